import { type HumanMessage, isFromClient, type Message, type SystemMessage } from '@caribou/contracts';
import { replaceContentText } from './edited-message.js';

type InputMessage = HumanMessage | SystemMessage;

/** Where the server stores the text of a user's message in front of which it has put a block. */
const ORIGINAL = 'original_user_content';

/**
 * Finds the messages of a turn that a client sent, as it sent them: those that are not in the state before it and come before its
 * first answer, and with `isSteered` also those that joined the run later.
 */
export function findTurnInput(
  before: readonly Message[],
  after: readonly Message[],
  { isSteered = false }: { readonly isSteered?: boolean } = {},
): InputMessage[] {
  const known = new Set(before.map(({ id }) => id));
  const added = after.filter(({ id }) => !known.has(id));
  const answer = isSteered ? -1 : added.findIndex(({ type }) => type === 'ai');
  return added.slice(0, answer < 0 ? added.length : answer).flatMap((message): InputMessage[] => {
    if (message.type === 'system') return [message];
    return isFromClient(message) ? [withoutBlock(message)] : [];
  });
}

function withoutBlock(message: HumanMessage): HumanMessage {
  const { [ORIGINAL]: original, ...marks } = message.additional_kwargs;
  if (typeof original !== 'string') return message;
  return { ...message, content: replaceContentText(message.content, original), additional_kwargs: marks };
}
