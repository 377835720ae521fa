import { textOf } from './conversation.js';
import { asOps, type Op, type Reply, textDeltas } from './reply.js';
import type { ChatMessage } from './request-check.js';

/**
 * The verdict on a goal, undefined for another request: reached, unless the goal says otherwise. Text of the goal controls it:
 * `goal-needs:WORD` is reached when an answer contains WORD, `goal-hold:NAME` waits until NAME is released, `goal-says:TEXT` answers
 * the rest of the line unchanged.
 */
export function goalReply(messages: readonly ChatMessage[], hasTools: boolean): Reply | undefined {
  const last = messages.at(-1);
  const prompt = last === undefined ? '' : textOf(last);
  const block = /^Goal:\n([\s\S]*?)\n\nConversation:\n([\s\S]*)\n\nIs the goal reached\?$/;
  const found = hasTools ? null : block.exec(prompt);
  if (found === null) return undefined;
  const [, goal = '', conversation = ''] = found;
  const gate = /goal-hold:(\w+)/.exec(goal)?.[1];
  const hold: Op[] = gate === undefined ? [] : [{ op: 'hold', name: gate }];
  return { ops: [...hold, ...asOps(textDeltas(verdictOn(goal, conversation)))], finish: 'stop' };
}

function verdictOn(goal: string, conversation: string): string {
  const text = /goal-says:(.*)$/m.exec(goal)?.[1];
  if (text !== undefined) return text;
  const word = /goal-needs:(\w+)/.exec(goal)?.[1];
  const answers = conversation.split('\n').filter((line) => line.startsWith('Assistant: '));
  const satisfied = word === undefined || answers.some((line) => line.includes(word));
  return JSON.stringify({
    satisfied,
    blocker: satisfied ? 'none' : 'goal_not_met_yet',
    reason: satisfied ? 'It is done.' : `No answer says ${word}.`,
    evidence_summary: `${answers.length} answers.`,
  });
}
