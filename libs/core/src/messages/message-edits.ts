import { isDeepStrictEqual } from 'node:util';
import {
  type AiMessage,
  type Content,
  EDITED,
  InvalidRequestError,
  type Message,
  type MessageEdit,
  omitUndefined,
  REMOVE_ALL,
  type RemoveMessage,
  type StateMessage,
  textOf,
} from '@caribou/contracts';
import { defuseFrameworkTags } from '../text/framework-tags.js';

/** Who edits, and when (ISO 8601). */
export interface Editor {
  readonly by: string;
  readonly at: string;
}

export const isEdit = (message: StateMessage): message is MessageEdit | RemoveMessage =>
  message.type === 'ai' || message.type === 'tool' || message.type === 'remove';

/**
 * The messages of a client's state update as they are stored: an edited answer or result is the stored one with the new
 * content, marked as edited, and without what its provider stored with the old content. Edits that change nothing are left
 * out; with an answer the results of its calls are removed.
 *
 * @throws {InvalidRequestError} naming a message that the thread has not, or that would change more than its content
 */
export function resolveEdits(
  stored: readonly Message[],
  messages: readonly StateMessage[],
  editor: Editor,
): (Message | RemoveMessage)[] {
  const byId = new Map(stored.map((message) => [message.id, message]));
  return messages.flatMap((message, index): (Message | RemoveMessage)[] => {
    if (!isEdit(message)) return [message];
    const refuse = (rule: string): InvalidRequestError => new InvalidRequestError(`values.messages.${index}: ${rule}`);
    if (message.type === 'remove' && message.id === REMOVE_ALL) return [message];
    const before = byId.get(message.id);
    if (before === undefined) throw refuse('the state of the thread has no message with this id');
    if (message.type === 'remove') return [message, ...removalsOfResults(before, stored)];
    const fault = faultOf(before, message);
    if (fault !== undefined) throw refuse(fault);
    return isSameContent(before.content, message.content) ? [] : [edited(before, message, editor)];
  });
}

/** Clients may send text back as blocks of text, which is no edit. */
const isSameContent = (one: Content, other: Content): boolean =>
  isDeepStrictEqual(one, other) || (isText(one) && isText(other) && textOf(one) === textOf(other));

const isText = (content: Content): boolean =>
  typeof content === 'string' || content.every((block) => typeof block === 'string' || block.type === 'text');

/** Providers refuse results without their call. */
function removalsOfResults(removed: Message, stored: readonly Message[]): RemoveMessage[] {
  if (removed.type !== 'ai') return [];
  const calls = new Set([...removed.tool_calls, ...removed.invalid_tool_calls].map(({ id }) => id));
  return stored.flatMap((message) =>
    message.type === 'tool' && calls.has(message.tool_call_id) ? [{ type: 'remove', id: message.id }] : [],
  );
}

/** What the edit would change besides the content. */
function faultOf(before: Message, edit: MessageEdit): string | undefined {
  if (before.type !== edit.type) return `the message with this id is of type ${before.type}`;
  if (edit.type === 'tool')
    return before.type === 'tool' && before.tool_call_id !== edit.tool_call_id
      ? 'tool_call_id cannot be changed'
      : undefined;
  if (before.type !== 'ai' || edit.tool_calls === null || edit.tool_calls === undefined) return undefined;
  const callsOf = (
    calls: readonly { readonly id?: string | null | undefined; readonly name: string; readonly args?: unknown }[],
  ) => calls.map(({ id, name, args }) => ({ id, name, args }));
  return isDeepStrictEqual(callsOf(before.tool_calls), callsOf(edit.tool_calls))
    ? undefined
    : 'tool_calls cannot be changed; send them back as they were, or leave them out';
}

function edited(before: Message, { content }: MessageEdit, { by, at }: Editor): Message {
  const additional_kwargs = { ...before.additional_kwargs, [EDITED]: { by, at } };
  // Tags of the prompt in it are no tags: they would speak to the model in the server's name.
  const change = { content: defuseFrameworkTags(content), additional_kwargs };
  return before.type === 'ai' ? editedAnswer(before, change) : { ...before, ...change };
}

/** Thoughts and signatures belong to the old content; the signatures of calls that stay belong to the calls. */
function editedAnswer(
  { provider_extras: extras, ...before }: AiMessage,
  { content, additional_kwargs }: Pick<AiMessage, 'content' | 'additional_kwargs'>,
): AiMessage {
  const { reasoning_content: _thoughts, ...marks } = additional_kwargs;
  const kept =
    extras?.calls === undefined
      ? undefined
      : { provider: extras.provider, model: extras.model, dialect: extras.dialect, calls: extras.calls };
  return { ...before, content, additional_kwargs: marks, ...omitUndefined({ provider_extras: kept }) };
}
