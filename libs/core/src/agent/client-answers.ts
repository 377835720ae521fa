import { FROM_CLIENT, type Message, type StateUpdate, type ToolMessage } from '@caribou/contracts';
import { pendingCalls } from './pending-calls.js';

/**
 * The calls that a client may answer (tool name by call id): those without a result in the model's last answer, if only
 * results follow it.
 */
export function answerableCalls(messages: readonly Message[]): ReadonlyMap<string, string> {
  const last = messages.findLastIndex(({ type }) => type === 'ai');
  if (messages.slice(last + 1).some(({ type }) => type !== 'tool')) return new Map();
  const { valid, invalid } = pendingCalls({ messages });
  return new Map([...valid, ...invalid].map(({ id, name }) => [id, name]));
}

const isClientAnswer = (message: { readonly type: string }): message is ToolMessage =>
  message.type === 'tool' && (message as ToolMessage).additional_kwargs[FROM_CLIENT] === true;

/** Drops from a run's input the client's answers to calls that received a result between admission and start. */
export function dropLateAnswers(messages: readonly Message[], input: StateUpdate): StateUpdate {
  if (input.messages?.some(isClientAnswer) !== true) return input;
  const open = answerableCalls(messages);
  const taken = new Set(messages.map(({ id }) => id));
  const accepted = input.messages.filter(
    (message) => !isClientAnswer(message) || (open.has(message.tool_call_id) && !taken.has(message.id)),
  );
  return { ...input, messages: accepted };
}
