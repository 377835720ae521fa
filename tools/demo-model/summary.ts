import { textOf } from './conversation.js';
import type { ChatMessage } from './request-check.js';

/**
 * The script that answers a request for a summary, undefined for another request. The summary names the number of
 * its messages. Text of the conversation controls it: `summary-hold:NAME` waits until NAME is released, `summary-fails:STATUS`
 * fails with that status.
 */
export function summaryScript(messages: readonly ChatMessage[], hasTools: boolean): string | undefined {
  const last = messages.at(-1);
  const text = last === undefined ? '' : textOf(last);
  const block = hasTools ? null : /<new_messages>([\s\S]*)<\/new_messages>\s*$/.exec(text);
  if (block === null) return undefined;
  const [, said = ''] = block;
  const status = /summary-fails:(\d{3})/.exec(said)?.[1];
  const gate = /summary-hold:(\w+)/.exec(said)?.[1];
  const count = said.match(/^<message from=/gm)?.length ?? 0;
  return [
    ...(gate === undefined ? [] : [`#hold ${gate} before`]),
    ...(status === undefined ? [] : [`#error ${status} no summary`]),
    `#say Summary of ${count} messages.`,
  ].join('\n');
}
