import type { StepTrace, TracedEdit, TracedModelCall, TracedRequest, TracedText, TracedToolCall } from '@caribou/core';
import type { NextNode } from '@caribou/contracts';

/**
 * The text of a step in a trace: JSON with short names, as a trace is in Redis for days. Times are milliseconds before the end of the
 * step (`a`) or durations (`d`). Fields with their usual value are absent.
 */
export interface StepText {
  /** Step number; nodes that follow, by a letter each; bytes of the checkpoint. */
  readonly n?: number | undefined;
  readonly x?: string | undefined;
  readonly b?: number | undefined;
  /** Duration of the commit before. */
  readonly p?: number | undefined;
  readonly c?: readonly CallText[] | undefined;
  readonly t?: readonly ToolText[] | undefined;
  /** Duration of all hooks; middleware, duration, calls, decisions. */
  readonly h?: readonly [number, readonly (readonly [string, number, number, ...string[]])[]] | undefined;
  /** Calls that are left out. */
  readonly o?: number | undefined;
  /** Interrupts that the run ends with: id, kind, deadline. */
  readonly i?: readonly (readonly [string, string, (number | null)?])[] | undefined;
}

export interface CallText {
  readonly a: number;
  readonly w?: string | undefined;
  readonly k?: number | undefined;
  readonly y?: TracedModelCall['because'] | undefined;
  readonly m: string;
  readonly v?: string | undefined;
  readonly u?: string | undefined;
  readonly z?: TracedModelCall['outcome'] | undefined;
  readonly f?: number | undefined;
  readonly d?: number | undefined;
  readonly i?: number | undefined;
  readonly o?: number | undefined;
  readonly e?: number | undefined;
  readonly r?: number | undefined;
  readonly s?: string | undefined;
  readonly g?: string | undefined;
  /** Error: name, message, reason, status. */
  readonly x?: readonly [string, string, string | null, number | null] | undefined;
  readonly q?: RequestText | undefined;
}

/**
 * System prompt and tools by hash; parts of the messages: a hash, [from, count] of the checkpoint of the step, [from, count, 1] of the
 * one before, or [omitted].
 */
export interface RequestText {
  readonly s: string;
  readonly t: string;
  readonly p?: TracedRequest['parameters'] | undefined;
  readonly l: readonly (string | RangeText | EditText)[];
}

type RangeText = readonly [number, number] | readonly [number, number, 1] | readonly [number];

/** A message as it was changed: its index, 1 when it is of the checkpoint before, and edits as position, removed, inserted. */
export interface EditText {
  readonly f: number;
  readonly b?: 1 | undefined;
  readonly e: readonly (readonly [number, number, string])[];
}

export interface ToolText {
  readonly a: number;
  readonly m: string;
  readonly g: string;
  readonly d: number;
  readonly z?: TracedToolCall['outcome'] | undefined;
  readonly x?: string | undefined;
  readonly k?: string | undefined;
}

/** What a checkpoint adds to the text of its step. */
export interface StepFacts {
  readonly step?: number;
  readonly next?: readonly NextNode[];
  readonly bytes?: number;
  readonly interrupts?: readonly {
    readonly id: string;
    readonly kind: string;
    readonly expires_ms?: number | undefined;
  }[];
}

/** Letters of the nodes; a new node gets another one. */
const NODES: Readonly<Record<NextNode, string>> = { model_request: 'm', after_model: 'a', tools: 't' };

/** The nodes that follow a step. */
export const nextIn = ({ x: letters = '' }: StepText): string[] =>
  Array.from(letters, (letter) => Object.entries(NODES).find(([, of]) => of === letter)?.[0] ?? letter);

/** Has all fields, so that the texts of all steps have one shape; JSON has none of those that are undefined. */
export function toStepText(step: StepTrace, { step: number, next = [], bytes, interrupts = [] }: StepFacts): StepText {
  const { nowMs, calls, tools, dropped } = step;
  return {
    n: number,
    x: next.length === 0 ? undefined : next.map((node) => NODES[node]).join(''),
    b: bytes,
    p: rounded(step.lastCommitMs),
    c: calls.length === 0 ? undefined : calls.map((call) => toCallText(call, ageOf(call, nowMs))),
    t: tools.length === 0 ? undefined : tools.map((tool) => toToolText(tool, ageOf(tool, nowMs))),
    h: hooksText(step.hooks),
    o: dropped === 0 ? undefined : dropped,
    i: interrupts.length === 0 ? undefined : interrupts.map(({ id, kind, expires_ms: at = null }) => [id, kind, at]),
  };
}

const ageOf = ({ atMs }: { readonly atMs: number }, nowMs: number): number => Math.max(0, Math.round(nowMs - atMs));

/** Leaves out a value that most have. */
const unless = <Value>(usual: Value, value: Value): Value | undefined => (value === usual ? undefined : value);

const rounded = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : Math.round(ms));

function hooksText(hooks: StepTrace['hooks']): StepText['h'] {
  if (hooks === undefined) return undefined;
  const parts = hooks.parts.map(
    ({ middleware, ms, calls, decisions }) => [middleware, ms, calls, ...decisions] as const,
  );
  return [hooks.durationMs, parts];
}

const toCallText = (call: TracedModelCall, age: number): CallText => ({
  a: age,
  m: call.model,
  w: unless('lead_agent', call.caller),
  k: unless(1, call.attempt),
  y: unless('first', call.because),
  v: unless(call.model, call.providerModel),
  u: call.provider,
  z: unless('ok', call.outcome),
  f: rounded(call.firstTokenMs),
  d: rounded(call.durationMs),
  i: call.tokens?.inputTokens,
  o: call.tokens?.outputTokens,
  e: call.tokens?.cachedInputTokens,
  r: call.tokens?.reasoningTokens,
  s: call.finishReason,
  g: call.messageId,
  x: errorText(call.error),
  q: call.request && toRequestText(call.request),
});

const errorText = (error: TracedModelCall['error']): CallText['x'] =>
  error === undefined ? undefined : [error.name, error.message, error.reason ?? null, error.status ?? null];

const toRequestText = ({ system, tools, parameters, messages }: TracedRequest): RequestText => ({
  s: system.hash,
  t: tools.hash,
  p: Object.keys(parameters).length === 0 ? undefined : parameters,
  l: messages.map(toPartText),
});

function toPartText(part: TracedRequest['messages'][number]): RequestText['l'][number] {
  if ('omitted' in part) return [part.omitted];
  if ('hash' in part) return part.hash;
  if ('edits' in part) return editText(part);
  return part.isBefore ? [part.from, part.count, 1] : [part.from, part.count];
}

const editText = ({ isBefore, index, edits }: TracedEdit): EditText => ({
  f: index,
  b: isBefore ? 1 : undefined,
  e: edits.map(({ at, removed, inserted }) => [at, removed, inserted]),
});

const toToolText = (tool: TracedToolCall, age: number): ToolText => ({
  a: age,
  m: tool.name,
  g: tool.id,
  d: Math.round(tool.durationMs),
  z: unless('ok', tool.outcome),
  x: tool.error,
  k: tool.subagentType,
});

/** Texts by their hash. */
type Texts = Map<string, string>;

/**
 * The texts that the requests of a step refer to: those that many threads of a user have, which are system prompts, lists of tools and
 * contexts, and other messages that the chain added or changed, which have contents of the thread.
 */
export function textsOf({ calls }: StepTrace): { readonly ofUser: Texts; readonly ofThread: Texts } {
  const texts = { ofUser: new Map<string, string>(), ofThread: new Map<string, string>() };
  for (const { request } of calls) {
    if (request === undefined) continue;
    addText(texts.ofUser, request.system);
    addText(texts.ofUser, request.tools);
    for (const part of request.messages) {
      if ('hash' in part) addText(part.isOfUser === true ? texts.ofUser : texts.ofThread, part);
    }
  }
  return texts;
}

function addText(texts: Texts, { hash, text }: TracedText): void {
  if (text !== undefined) texts.set(hash, text);
}
