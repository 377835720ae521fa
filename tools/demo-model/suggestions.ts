import { textOf } from './conversation.js';
import { type Reply, sayReply } from './reply.js';
import type { ChatMessage } from './request-check.js';

/**
 * The answer to a request for follow-up questions, undefined for another request: as many as are asked for, about the
 * user's first text.
 */
export function suggestionsReply(messages: readonly ChatMessage[], hasTools: boolean): Reply | undefined {
  const last = messages.at(-1);
  const prompt = last === undefined ? '' : textOf(last);
  const block = hasTools ? null : /exactly (\d) strings?[\s\S]*<exchange>([\s\S]*)<\/exchange>\s*$/.exec(prompt);
  if (block === null) return undefined;
  const [, count = '1', said = ''] = block;
  const words = /^Person: (.{1,40})/m.exec(said)?.[1]?.trim() ?? 'this';
  const questions = Array.from({ length: Number(count) }, (_, index) => `What else about ${words} (${index + 1})?`);
  return sayReply(JSON.stringify(questions));
}
