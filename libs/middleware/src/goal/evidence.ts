import { createHash } from 'node:crypto';
import { type AiMessage, type Message, oneLine, textOf, type ToolCall } from '@caribou/contracts';
import { isUserMessage, userText } from '@caribou/core';

/** Newest messages of users and agent that are shown to the evaluator; calls and results between them are shown too. */
const MAX_MESSAGES = 30;
const MAX_CHARS = 12_000;
/** Of the user's newest message, which is shown even where only the newest part of the conversation is. */
const MAX_REQUEST_CHARS = 2_000;
const MAX_TEXT_CHARS = 4_000;
const MAX_ARGS_CHARS = 300;
const MAX_RESULT_CHARS = 600;
/** Of an answer with its calls, so that the newest message is always shown. */
const MAX_MESSAGE_CHARS = 6_000;

/**
 * The newest part of the conversation as users see it, for a model that judges it: one paragraph per message, call and result, in
 * all at most about MAX_CHARS characters. The newest message of the user is always part of it.
 */
export function formatEvidence(messages: readonly Message[]): string {
  const shown = messages.filter(isShown);
  const newest = newestMessages(shown);
  const request = shown.findLast(isUserMessage);
  const pinned = request === undefined ? '' : formatRequest(request);
  const lines: string[] = [];
  let left = MAX_CHARS - pinned.length;
  for (const message of newest.toReversed()) {
    const text = message === request ? pinned : cut(formatMessage(message), MAX_MESSAGE_CHARS);
    if (message !== request) left -= text.length;
    if (left < 0) break;
    lines.unshift(text);
  }
  const isWhole = lines.length === shown.length;
  const hasRequest = request === undefined || lines.includes(pinned);
  return [...(hasRequest ? [] : [pinned]), ...(isWhole ? [] : [LEFT_OUT]), ...lines].join('\n\n');
}

const LEFT_OUT = '[earlier messages are left out]';

/** The newest messages of users and agent, MAX_MESSAGES at most, with the results between them. */
function newestMessages(shown: readonly Message[]): readonly Message[] {
  const first = shown.filter(({ type }) => type !== 'tool').at(-MAX_MESSAGES);
  return first === undefined ? shown : shown.slice(shown.indexOf(first));
}

const isShown = (message: Message): boolean =>
  isUserMessage(message) || message.type === 'tool' || (message.type === 'ai' && !isHidden(message));

const isHidden = ({ additional_kwargs: marks }: Message): boolean => marks['hide_from_ui'] === true;

const formatRequest = (message: Message): string => `User: ${cut(userText(message).trim(), MAX_REQUEST_CHARS)}`;

function formatMessage(message: Message): string {
  if (message.type === 'ai') return formatAnswer(message);
  if (message.type === 'tool') {
    const failed = message.status === 'error' ? ', failed' : '';
    return `Result of ${oneLine(message.name)}${failed}: ${JSON.stringify(cut(textOf(message.content), MAX_RESULT_CHARS))}`;
  }
  return `User: ${cut(userText(message).trim(), MAX_TEXT_CHARS)}`;
}

function formatAnswer(message: AiMessage): string {
  const text = textOf(message.content).trim();
  const said = text === '' ? [] : [`Assistant: ${cut(text, MAX_TEXT_CHARS)}`];
  return [...said, ...message.tool_calls.map(formatCall)].join('\n\n');
}

const formatCall = ({ name, args }: ToolCall): string =>
  `Assistant calls ${oneLine(name)}: ${cut(JSON.stringify(args), MAX_ARGS_CHARS)}`;

/** The beginning of a text, without half of a surrogate pair, and how much is left out. */
function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const begin = text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, '');
  return `${begin}… [${text.length - begin.length} more characters]`;
}

/** The newest answer that users see and that has text. */
const latestAnswer = (messages: readonly Message[]): Message | undefined =>
  messages.findLast((message) => message.type === 'ai' && !isHidden(message) && textOf(message.content).trim() !== '');

/** Identifies the text of the newest visible answer: the same after a turn that brought nothing new. */
export function answerDigest(messages: readonly Message[]): string {
  const answer = latestAnswer(messages);
  return answer === undefined ? '' : createHash('sha256').update(textOf(answer.content).trim()).digest('hex');
}
