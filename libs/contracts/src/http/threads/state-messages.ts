import { z } from 'zod';
import { type RemoveMessage } from '../../records/messages.js';
import { messageList, roleOf } from './client-messages.js';
import { InputMessage, type ReturnedAi, type ReturnedTool } from './input-messages.js';

/** A change of a message that the server wrote: new content, under the id of the message. */
export type MessageEdit = (ReturnedAi | ReturnedTool) & { readonly id: string };

/**
 * A message of a state update: one of the client, new content of an answer or a tool's result, or a removal. Whether the
 * thread has the message is checked against its state.
 */
export type StateMessage = Exclude<InputMessage, ReturnedAi | ReturnedTool> | MessageEdit | RemoveMessage;

const isRemoval = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && ['remove', 'RemoveMessage'].includes(String(roleOf(value)));

const Removal = z
  .object({ id: z.string({ error: 'must be the id of a message' }).min(1, 'must be the id of a message') })
  .transform(({ id }): RemoveMessage => ({ type: 'remove', id }));

const StateMessage = z.unknown().transform((given, context): StateMessage => {
  const parsed = isRemoval(given) ? Removal.safeParse(given) : InputMessage.safeParse(given);
  if (!parsed.success) {
    for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path: [...path], message });
    return z.NEVER;
  }
  const { data } = parsed;
  if (isEditWithoutId(data)) {
    context.addIssue({ code: 'custom', path: ['id'], message: 'must be the id of a message of the thread' });
    return z.NEVER;
  }
  return data as StateMessage;
});

const isEditWithoutId = (message: InputMessage | RemoveMessage): boolean =>
  (message.type === 'ai' || message.type === 'tool') && (message.id ?? '') === '';

/** The messages of a state update. */
export const StateMessages = messageList(StateMessage);
