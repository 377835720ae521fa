import { createHash } from 'node:crypto';
import { type Message, omitUndefined } from '@caribou/contracts';
import {
  CONTEXT_MESSAGE,
  memoizeRecent,
  memoizeRecentLists,
  type ModelCall,
  type OmittedMessages,
  type TracedEdit,
  type TracedRange,
  type TracedRequest,
  type TracedText,
} from '@caribou/core';
import { LRUCache } from 'lru-cache';
import { editsOf } from './message-edits.js';

/** Instead of a larger text its size is stored. */
const MAX_TEXT_CHARS = 256 * 1024;
/** Maximum number of parts that the messages of a request are described by. */
const MAX_PARTS = 1_000;

type ModelTool = ModelCall['tools'][number];
type Part = TracedRange | TracedText | TracedEdit | OmittedMessages;

/** The messages of the checkpoints between which a step is. */
export interface StepMessages {
  readonly before: readonly Message[];
  /** Absent when the step ends without a checkpoint. */
  readonly after?: readonly Message[];
}

/** Describes a request. Messages of the two checkpoints are not stored again. */
export function tracedRequest(call: ModelCall, { before, after = [] }: StepMessages): TracedRequest {
  return {
    parameters: omitUndefined({
      thinking_enabled: call.thinkingEnabled,
      tool_choice: call.toolChoice,
      reasoning_effort: call.reasoningEffort,
      temperature: call.temperature,
      max_tokens: call.maxTokens,
    }),
    system: systemText(call.system),
    tools: toolsText(call.tools),
    messages: messageParts(call.messages, { before, after }),
  };
}

/** The messages as ranges of those of a checkpoint, found by identity, and what the chain added or changed. */
export function messageParts(messages: readonly Message[], step: Required<StepMessages>): TracedRequest['messages'] {
  const parts: Part[] = [];
  let range: { isBefore: boolean; from: number; count: number } | undefined;
  for (const message of messages) {
    if (range !== undefined && sourceOf(step, range)[range.from + range.count] === message) {
      range.count += 1;
      continue;
    }
    range = rangeAt(message, step);
    parts.push(range ?? editOf(message, step) ?? addedText(message, step));
  }
  if (parts.length <= MAX_PARTS) return parts;
  const shown = parts.slice(0, MAX_PARTS - 1);
  const described = shown.reduce((sum, part) => sum + ('count' in part ? part.count : 1), 0);
  return [...shown, { omitted: messages.length - described }];
}

const sourceOf = (step: Required<StepMessages>, { isBefore }: { readonly isBefore: boolean }): readonly Message[] =>
  isBefore ? step.before : step.after;

function rangeAt(message: Message, { before, after }: Required<StepMessages>) {
  const inAfter = after.indexOf(message);
  if (inAfter !== -1) return { isBefore: false, from: inAfter, count: 1 };
  const inBefore = before.indexOf(message);
  return inBefore === -1 ? undefined : { isBefore: true, from: inBefore, count: 1 };
}

function lastWithId(messages: readonly Message[], id: string): number {
  let index = messages.length - 1;
  while (index >= 0 && messages[index]?.id !== id) index -= 1;
  return index;
}

/** The message as a change of the one with its id, when it is small. */
function editOf(message: Message, step: Required<StepMessages>): TracedEdit | undefined {
  for (const isBefore of [false, true]) {
    const source = sourceOf(step, { isBefore });
    const index = lastWithId(source, message.id);
    const original = source[index];
    const edits = original === undefined ? undefined : editsOf(JSON.stringify(original), JSON.stringify(message));
    if (edits !== undefined) return { isBefore, index, edits };
  }
  return undefined;
}

/** Whether a message is of the thread's context, which has nothing of the conversation. A client's message with its name is in a checkpoint. */
const isContext = ({ type, id, name }: Message, { before, after }: Required<StepMessages>): boolean =>
  type === 'human' && name === CONTEXT_MESSAGE && lastWithId(before, id) === -1 && lastWithId(after, id) === -1;

function addedText(message: Message, step: Required<StepMessages>): TracedText {
  const text = messageText(message);
  return isContext(message, step) ? { ...text, isOfUser: true } : text;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

const toText = (text: string): TracedText =>
  text.length > MAX_TEXT_CHARS ? { hash: `large-${text.length}` } : { hash: hashOf(text), text };

/** The messages that layers add are the same objects in some requests; one that is made again mostly has a text that is known. */
const ofMessages = new WeakMap<Message, TracedText>();

function messageText(message: Message): TracedText {
  const known = ofMessages.get(message);
  if (known !== undefined) return known;
  const text = knownText(JSON.stringify(message));
  ofMessages.set(message, text);
  return text;
}

const systemText = memoizeRecent(toText);

/** Messages such as the context of a thread. */
const texts = new LRUCache<string, TracedText>({
  max: 1_000,
  maxSize: 8 * 1024 * 1024,
  sizeCalculation: (_text, key) => key.length + 1,
});

function knownText(whole: string): TracedText {
  const known = texts.get(whole);
  if (known !== undefined) return known;
  const text = toText(whole);
  texts.set(whole, text);
  return text;
}

/** Most requests of a process have one of few lists of tools. */
const toolsText = memoizeRecentLists((tools: readonly ModelTool[]) =>
  toText(JSON.stringify(tools.map(({ name, description, parameters }) => ({ name, description, parameters })))),
);
