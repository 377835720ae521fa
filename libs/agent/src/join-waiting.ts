import type { HumanMessage, ThreadState } from '@caribou/contracts';
import { runHooks } from '@caribou/middleware';
import type { AgentRun } from './agent-run.js';
import type { TurnDraft } from './turn-draft.js';

/**
 * Adds the messages that wait to the conversation, one after the other, each with what the `onJoined` hooks make of it.
 * Called before a model request only, so that none comes between an answer and the results of its calls.
 *
 * @returns whether something joined, which is then committed before the model is called
 */
export async function joinWaiting({ host, chain, run }: AgentRun, draft: TurnDraft): Promise<boolean> {
  const waiting = host.waiting?.() ?? [];
  if (waiting.length === 0) return false;
  for (const message of waiting) {
    const isNew = !hasMessage(draft.state, message);
    draft.addJoined(isNew ? [message] : [], 1);
    if (isNew) draft.addHooks('onJoined', await runHooks(chain, 'onJoined', { state: draft.state, run }));
  }
  run.recordDecision('steering', 'joined', { messages: waiting.length });
  return true;
}

/** Whether the conversation has the message already, as after a request that was sent twice. */
const hasMessage = ({ messages }: ThreadState, { id }: HumanMessage): boolean =>
  messages.some((known) => known.id === id && known.type === 'human');
