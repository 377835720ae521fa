import { FROM_CLIENT, type Message, type StateUpdate, type ToolMessage } from '@caribou/contracts';

/**
 * The tool calls without a result (name by id): those of the model's last answer, if only results follow it. A client
 * may answer only these.
 */
export function openCallsOf(messages: readonly Message[]): ReadonlyMap<string, string> {
  const last = messages.findLastIndex(({ type }) => type === 'ai');
  const answer = messages[last];
  const after = messages.slice(last + 1);
  if (answer?.type !== 'ai' || after.some(({ type }) => type !== 'tool')) return new Map();
  const answered = new Set(after.map((message) => (message.type === 'tool' ? message.tool_call_id : undefined)));
  const calls = [...answer.tool_calls, ...answer.invalid_tool_calls].filter(({ id }) => !answered.has(id));
  return new Map(calls.map(({ id, name }) => [id, name]));
}

const isClientAnswer = (message: { readonly type: string }): message is ToolMessage =>
  message.type === 'tool' && (message as ToolMessage).additional_kwargs[FROM_CLIENT] === true;

/** Drops from a run's input the client's answers to calls that received a result between admission and start. */
export function dropLateAnswers(messages: readonly Message[], input: StateUpdate): StateUpdate {
  if (input.messages?.some(isClientAnswer) !== true) return input;
  const open = openCallsOf(messages);
  const taken = new Set(messages.map(({ id }) => id));
  const accepted = input.messages.filter(
    (message) => !isClientAnswer(message) || (open.has(message.tool_call_id) && !taken.has(message.id)),
  );
  return { ...input, messages: accepted };
}
