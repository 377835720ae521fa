import { createHash } from 'node:crypto';
import { type Message, omitUndefined } from '@caribou/contracts';
import type { ModelCall, OmittedMessages, TracedRange, TracedRequest, TracedText } from '@caribou/core';
import { LRUCache } from 'lru-cache';

/** Instead of a larger text its size is stored. */
const MAX_TEXT_CHARS = 256 * 1024;
/** Maximum number of parts that the messages of a request are described by. */
const MAX_PARTS = 1_000;

type ModelTool = ModelCall['tools'][number];
type Part = TracedRange | TracedText | OmittedMessages;

/** Describes a request. `base`: the messages of the checkpoint before the step, which are not stored again. */
export function tracedRequest(call: ModelCall, base: readonly Message[]): TracedRequest {
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
    messages: messageParts(call.messages, base),
  };
}

/** The messages as ranges of `base`, found by identity, and as texts of those that the chain added or changed. */
export function messageParts(messages: readonly Message[], base: readonly Message[]): TracedRequest['messages'] {
  const parts: Part[] = [];
  let positions: ReadonlyMap<Message, number> | undefined;
  let from = 0;
  let count = 0;
  const endRange = (): void => {
    if (count > 0) parts.push({ from, count });
    count = 0;
  };
  for (const message of messages) {
    if (base[from + count] === message) {
      count += 1;
      continue;
    }
    endRange();
    positions ??= new Map(base.map((known, index) => [known, index]));
    const at = positions.get(message);
    if (at === undefined) {
      parts.push(messageText(message));
      continue;
    }
    from = at;
    count = 1;
  }
  endRange();
  if (parts.length <= MAX_PARTS) return parts;
  const shown = parts.slice(0, MAX_PARTS - 1);
  const described = shown.reduce((sum, part) => sum + ('count' in part ? part.count : 1), 0);
  return [...shown, { omitted: messages.length - described }];
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

const toText = (text: string): TracedText =>
  text.length > MAX_TEXT_CHARS ? { hash: `large-${text.length}` } : { hash: hashOf(text), text };

/** The texts of messages that layers add to each request again are the same objects in most of them. */
const ofMessages = new WeakMap<Message, TracedText>();

function messageText(message: Message): TracedText {
  const known = ofMessages.get(message);
  if (known !== undefined) return known;
  const text = toText(JSON.stringify(message));
  ofMessages.set(message, text);
  return text;
}

const systems = new LRUCache<string, TracedText>({
  max: 1_000,
  maxSize: 8 * 1024 * 1024,
  sizeCalculation: (_text, key) => key.length + 1,
});

function systemText(system: string): TracedText {
  const known = systems.get(system);
  if (known !== undefined) return known;
  const text = toText(system);
  systems.set(system, text);
  return text;
}

interface KnownTools {
  readonly tools: readonly ModelTool[];
  readonly text: TracedText;
}

/** The lists of tools that were described lately, the newest first: most requests of a process have one of few lists. */
let lists: readonly KnownTools[] = [];
const MAX_LISTS = 16;

function toolsText(tools: readonly ModelTool[]): TracedText {
  const known = lists.find((list) => isSameList(list.tools, tools));
  if (known !== undefined) return known.text;
  const text = toText(
    JSON.stringify(tools.map(({ name, description, parameters }) => ({ name, description, parameters }))),
  );
  lists = [{ tools, text }, ...lists].slice(0, MAX_LISTS);
  return text;
}

const isSameList = (one: readonly ModelTool[], other: readonly ModelTool[]): boolean =>
  one.length === other.length && one.every((tool, index) => tool === other[index]);
