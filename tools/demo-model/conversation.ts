import type { ChatMessage } from './request-check.js';

/** The part of a conversation on which the next answer depends. */
export interface Turn {
  /** Text of the human message that opened the turn, '' when there is none. */
  humanText: string;
  /** How many human messages there are, this one included. */
  humanCount: number;
  /** Everything after that human message. */
  after: ChatMessage[];
}

/**
 * Finds the turn under way. Reminders that middlewares put in as human messages do not open a turn:
 * those named anything but `user-input`, and those that are one `<tag>…</tag>` block.
 */
export function currentTurn(messages: readonly ChatMessage[]): Turn {
  const humans = messages.flatMap((message, at) => (isHuman(message) ? [at] : []));
  const at = humans.at(-1);
  const opener = at === undefined ? undefined : messages[at];
  return {
    humanText: opener === undefined ? '' : withoutMarks(textOf(opener)),
    humanCount: humans.length,
    after: at === undefined ? [] : messages.slice(at + 1),
  };
}

const BEGIN = /(^|\n)<user_input>\n/;
const END = /\n<\/user_input>\s*$/;

/** A user's text without the two lines that mark it as such for the model. */
const withoutMarks = (text: string): string => text.replace(BEGIN, '$1').replace(END, '');

/** The text of a message, its text parts joined by line breaks. */
export function textOf(message: ChatMessage): string {
  const { content } = message;
  if (typeof content === 'string') return content;
  return (content ?? []).flatMap((part) => (part.text === undefined ? [] : [part.text])).join('\n');
}

function isHuman(message: ChatMessage): boolean {
  if (message.role !== 'user') return false;
  if (message.name !== undefined && message.name !== 'user-input') return false;
  const text = textOf(message);
  return BEGIN.test(text) || !/^\s*<([\w-]+)>[\s\S]*<\/\1>\s*$/.test(text);
}
