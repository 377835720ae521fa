import { history as texts } from '../../../../text/panels-history.js';

/** A change between two states, as a line. */
export interface StateChange {
  readonly kind: 'added' | 'removed' | 'changed';
  readonly title: string;
  /** The beginning of the text, and the tools that are called. */
  readonly text: string;
}

type Values = Readonly<Record<string, unknown>>;

const MAX_TEXT_CHARS = 300;
/** Channels whose changes follow from others. */
const QUIET = new Set(['messages', 'thread_data', 'sandbox']);

/** What differs between the values of two states: messages by their ids, and channels. */
export function stateChanges(before: Values, after: Values): readonly StateChange[] {
  const [old, now] = [messagesOf(before), messagesOf(after)];
  const oldById = new Map(old.map((message) => [message['id'], message]));
  const ids = new Set(now.map((message) => message['id']));
  const messages = now.flatMap((message): StateChange[] => {
    const known = oldById.get(message['id']);
    if (known === undefined) return [changeOf('added', message)];
    return isSame(known, message) ? [] : [changeOf('changed', message)];
  });
  const removed = old.filter((message) => !ids.has(message['id'])).map((message) => changeOf('removed', message));
  return [...messages, ...removed, ...channelChanges(before, after)];
}

const channelChanges = (before: Values, after: Values): readonly StateChange[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !QUIET.has(name) && !isSame(before[name], after[name]))
    .map((name) => ({ kind: 'changed', title: texts.channelChanged(name), text: shortOf(after[name]) }));

const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

function messagesOf({ messages }: Values): readonly Values[] {
  return Array.isArray(messages)
    ? messages.filter((each): each is Values => typeof each === 'object' && each !== null)
    : [];
}

function changeOf(kind: StateChange['kind'], message: Values): StateChange {
  const by = authorOf(message['type']);
  const titles = { added: texts.messageAdded, removed: texts.messageRemoved, changed: texts.messageChanged };
  const tools = toolsOf(message);
  const calls = tools.length === 0 ? '' : texts.calls(tools.join(', '));
  return { kind, title: titles[kind](by), text: [shortOf(message['content']), calls].filter(Boolean).join(' · ') };
}

const authorOf = (type: unknown): string =>
  type === 'human' || type === 'ai' || type === 'tool' || type === 'system' ? texts.by[type] : texts.message;

const toolsOf = ({ tool_calls: calls }: Values): readonly string[] =>
  Array.isArray(calls)
    ? calls.flatMap((call: unknown) =>
        typeof call === 'object' && call !== null && 'name' in call && typeof call.name === 'string' ? [call.name] : [],
      )
    : [];

function shortOf(value: unknown): string {
  if (value === undefined || value === '') return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= MAX_TEXT_CHARS ? text : `${text.slice(0, MAX_TEXT_CHARS)}…`;
}

/** The id of the last answer of the agent in a state, at whose turn a branch begins. */
export const lastAnswerIn = (values: Values): string | undefined => {
  const id = messagesOf(values).findLast(({ type }) => type === 'ai')?.['id'];
  return typeof id === 'string' ? id : undefined;
};
