import { isDeepStrictEqual } from 'node:util';
import type { HumanMessage, Message, ThreadContext, ThreadState } from '@caribou/contracts';
import {
  type AgentMiddleware,
  CONTEXT_MESSAGE,
  isUserMessage,
  memoize,
  memoizeRecent,
  type RunContext,
} from '@caribou/core';
import type { ContextFacts } from './context-sections.js';
import { formatChanges, formatContext, isErased } from './context-text.js';

/** Bounds of the notes of a thread: their number, and UTF-16 units of all. */
const MAX_NOTES = 50;
const MAX_NOTE_CHARS = 40_000;

const NAME = CONTEXT_MESSAGE;

/** Reads the texts of the sections for a run. */
export type ReadContext = (run: RunContext) => Promise<ContextFacts>;

/**
 * Shows the model the date, the memory and other facts that change between runs, in hidden messages instead of the system
 * prompt. They are a channel of the thread, not messages of it, so that no client sees, changes or removes them, and
 * nothing that reads the conversation takes them for something that the person wrote.
 *
 * T1 Each text is sent as it was first written, at the same position, so that a request begins with the one before it.
 *    A change is a note in front of the user's message of the turn in which it is noticed.
 * T2 The notes are joined to one new message in front only when the request changes there anyway, because messages that
 *    they precede were removed, by a summary for example; when the person has erased their memory or profile; or when
 *    there are too many notes.
 * T3 The update is part of the run's first commit: a takeover before it reads the facts again, one after it does not.
 */
export function threadContext(read: ReadContext): AgentMiddleware {
  return {
    name: NAME,
    async beforeAgent(state, run) {
      const next = nextContext(state, await read(run));
      if (next === undefined) return undefined;
      run.recordDecision(NAME, next.notes.length === 0 ? 'written' : 'noted', { notes: next.notes.length });
      return { update: { thread_context: next } };
    },
    beforeModel({ thread_context: context, messages }, run) {
      if (context === undefined || !hasLostNotes(context, messages)) return Promise.resolve(undefined);
      run.recordDecision(NAME, 'joined', { notes: context.notes.length });
      return Promise.resolve({ update: { thread_context: createContext(context.shown) } });
    },
    wrapModelCall: (request, next) =>
      next({ ...request, messages: withContext(request.messages, request.state.thread_context) }),
  };
}

/** Most threads that begin on one day have the same context: they share the object, so that its JSON and its message are made once. */
const newest = memoizeRecent((_text): { context?: ThreadContext } => ({}));

function createContext(shown: ThreadContext['shown']): ThreadContext {
  const text = formatContext(shown);
  const known = newest(text);
  if (known.context === undefined || !isDeepStrictEqual(known.context.shown, shown))
    known.context = { text, notes: [], shown };
  return known.context;
}

/** The context after a change of the facts; undefined when it stays as it is. */
function nextContext(
  { messages, thread_context: context }: ThreadState,
  facts: ContextFacts,
): ThreadContext | undefined {
  if (context === undefined) return createContext({ ...facts });
  const shown = { ...context.shown, ...facts };
  if (isErased(context.shown, shown)) return createContext(shown);
  const text = formatChanges(context.shown, shown);
  // Without a new message of the user a note could only precede what the model has seen already.
  const before = newUserMessage(messages);
  if (text === undefined || before === undefined) return undefined;
  const notes = [...context.notes, { before: before.id, text }];
  const isFull = notes.length > MAX_NOTES || notes.reduce((sum, note) => sum + note.text.length, 0) > MAX_NOTE_CHARS;
  return isFull ? createContext(shown) : { text: context.text, notes, shown };
}

/** The user's last message, when the model has not answered it. */
function newUserMessage(messages: readonly Message[]): Message | undefined {
  const at = messages.findLastIndex(isUserMessage);
  return messages.slice(at).some(({ type }) => type === 'ai' || type === 'tool') ? undefined : messages[at];
}

function hasLostNotes({ notes }: ThreadContext, messages: readonly Message[]): boolean {
  if (notes.length === 0) return false;
  const ids = new Set(messages.map(({ id }) => id));
  return notes.some(({ before }) => !ids.has(before));
}

/** The messages of a request with the context; notes whose message is not among them follow the first message. */
function withContext(messages: readonly Message[], context: ThreadContext | undefined): readonly Message[] {
  if (context === undefined) return messages;
  const first = firstMessage(context);
  if (context.notes.length === 0) return [first, ...messages];
  const ids = new Set(messages.map(({ id }) => id));
  const lost: Message[] = [];
  const placed = new Map<string, Message[]>();
  context.notes.forEach(({ before, text }, index) => {
    const note = hiddenMessage(index + 1, text);
    if (ids.has(before)) placed.set(before, [...(placed.get(before) ?? []), note]);
    else lost.push(note);
  });
  const following = messages.flatMap((message) => [...(placed.get(message.id) ?? []), message]);
  return [first, ...lost, ...following];
}

const firstMessage = memoize(({ text }: ThreadContext) => hiddenMessage(0, text));

const hiddenMessage = (index: number, content: string): HumanMessage => ({
  type: 'human',
  id: `${NAME}:${index}`,
  name: NAME,
  content,
  additional_kwargs: { hide_from_ui: true },
  response_metadata: {},
});
