import { isDeepStrictEqual } from 'node:util';
import {
  FROM_CLIENT,
  type InputMessage,
  type Message,
  newId,
  type ReturnedAi,
  type ReturnedTool,
  toClientState,
  textOf,
  type ThreadState,
  type ToolMessage,
} from '@caribou/contracts';
import { defuseFrameworkTags } from '@caribou/core';

export type Returned = ReturnedAi | ReturnedTool;

export const isReturned = (message: InputMessage): message is Returned =>
  message.type === 'ai' || message.type === 'tool';

/** Whether the value is empty, as clients send it for a channel that had no value when they read it. */
const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** Whether clients see this value of the channel in the state. */
export const showsChannel = (state: ThreadState, name: string, value: unknown): boolean =>
  isEmpty(value) || isDeepStrictEqual((toClientState(state) as Readonly<Record<string, unknown>>)[name], value);

/** Whether the client sent back this message of the thread: it has the same id, or answers the same call. */
export const isSameMessage = (stored: Message, returned: Returned): boolean =>
  returned.type === 'tool'
    ? stored.type === 'tool' && (stored.id === returned.id || stored.tool_call_id === returned.tool_call_id)
    : stored.type === 'ai' && stored.id === returned.id;

/** Whether the client sent a message back as it is stored. Blocks without text are not compared. */
export function isUnchanged(stored: Message, returned: Returned): boolean {
  if (stored.type !== returned.type || textOf(stored.content) !== textOf(returned.content)) return false;
  if (returned.type === 'tool') return stored.type === 'tool' && stored.tool_call_id === returned.tool_call_id;
  const calls = (returned.tool_calls ?? []).map(({ id, name, args }) => ({ id, name, args }));
  return (
    stored.type === 'ai' &&
    isDeepStrictEqual(
      stored.tool_calls.map(({ id, name, args }) => ({ id, name, args })),
      calls,
    )
  );
}

/**
 * The client's answer to an open call, marked as one. Tags in its text are defused, so that it cannot imitate the
 * prompt.
 */
export const toClientAnswer = ({ id, content, tool_call_id, status }: ReturnedTool, toolName: string): ToolMessage => ({
  type: 'tool',
  id: id === undefined || id === null || id === '' ? newId() : id,
  content: defuseFrameworkTags(content),
  tool_call_id,
  name: toolName,
  status: status ?? 'success',
  additional_kwargs: { [FROM_CLIENT]: true },
  response_metadata: {},
});
