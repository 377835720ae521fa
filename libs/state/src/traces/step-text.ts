import type { StepTrace, TracedEdit, TracedModelCall, TracedRequest, TracedText, TracedToolCall } from '@caribou/core';
import { type NextNode, omitUndefined } from '@caribou/contracts';

/**
 * The text of a step in a trace: JSON with short names, as a trace is in Redis for days. Times are milliseconds before the end of the
 * step (`a`) or durations (`d`). Fields with their usual value are absent.
 */
export interface StepText {
  /** Step number; nodes that follow, by a letter each; bytes of the checkpoint. */
  readonly n?: number;
  readonly x?: string;
  readonly b?: number;
  /** Duration of the commit before. */
  readonly p?: number;
  readonly c?: readonly CallText[];
  readonly t?: readonly ToolText[];
  /** Duration of all hooks; middleware, duration, calls, decisions. */
  readonly h?: readonly [number, readonly (readonly [string, number, number, ...string[]])[]];
  /** Calls that are left out. */
  readonly o?: number;
  /** Interrupts that the run ends with: id, kind, deadline. */
  readonly i?: readonly (readonly [string, string, (number | null)?])[];
}

export interface CallText {
  readonly a: number;
  readonly w?: string;
  readonly k?: number;
  readonly y?: TracedModelCall['because'];
  readonly m: string;
  readonly v?: string;
  readonly u?: string;
  readonly z?: TracedModelCall['outcome'];
  readonly f?: number;
  readonly d?: number;
  readonly i?: number;
  readonly o?: number;
  readonly e?: number;
  readonly r?: number;
  readonly s?: string;
  readonly g?: string;
  /** Error: name, message, reason, status. */
  readonly x?: readonly [string, string, string | null, number | null];
  readonly q?: RequestText;
}

/**
 * System prompt and tools by hash; parts of the messages: a hash, [from, count] of the checkpoint of the step, [from, count, 1] of the
 * one before, or [omitted].
 */
export interface RequestText {
  readonly s: string;
  readonly t: string;
  readonly p?: TracedRequest['parameters'];
  readonly l: readonly (string | RangeText | EditText)[];
}

type RangeText = readonly [number, number] | readonly [number, number, 1] | readonly [number];

/** A message as it was changed: its index, 1 when it is of the checkpoint before, and edits as position, removed, inserted. */
export interface EditText {
  readonly f: number;
  readonly b?: 1;
  readonly e: readonly (readonly [number, number, string])[];
}

export interface ToolText {
  readonly a: number;
  readonly m: string;
  readonly g: string;
  readonly d: number;
  readonly z?: TracedToolCall['outcome'];
  readonly x?: string;
  readonly k?: string;
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

export function toStepText(step: StepTrace, { step: number, next = [], bytes, interrupts = [] }: StepFacts): StepText {
  const ageOf = (atMs: number): number => Math.max(0, Math.round(step.nowMs - atMs));
  return omitUndefined({
    n: number,
    x: next.length === 0 ? undefined : next.map((node) => NODES[node]).join(''),
    b: bytes,
    p: rounded(step.lastCommitMs),
    c: step.calls.length === 0 ? undefined : step.calls.map((call) => toCallText(call, ageOf(call.atMs))),
    t: step.tools.length === 0 ? undefined : step.tools.map((tool) => toToolText(tool, ageOf(tool.atMs))),
    h: hooksText(step.hooks),
    o: step.dropped === 0 ? undefined : step.dropped,
    i:
      interrupts.length === 0
        ? undefined
        : interrupts.map(({ id, kind, expires_ms: at = null }) => [id, kind, at] as const),
  });
}

const rounded = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : Math.round(ms));

function hooksText(hooks: StepTrace['hooks']): StepText['h'] {
  if (hooks === undefined) return undefined;
  const parts = hooks.parts.map(
    ({ middleware, ms, calls, decisions }) => [middleware, ms, calls, ...decisions] as const,
  );
  return [hooks.durationMs, parts];
}

function toCallText(call: TracedModelCall, age: number): CallText {
  return {
    ...{ a: age, m: call.model },
    ...omitUndefined({
      w: call.caller === 'lead_agent' ? undefined : call.caller,
      k: call.attempt === 1 ? undefined : call.attempt,
      y: call.because === 'first' ? undefined : call.because,
      v: call.providerModel === call.model ? undefined : call.providerModel,
      u: call.provider,
      z: call.outcome === 'ok' ? undefined : call.outcome,
      f: rounded(call.firstTokenMs),
      d: rounded(call.durationMs),
      i: call.inputTokens,
      o: call.outputTokens,
      e: call.cachedInputTokens,
      r: call.reasoningTokens,
      s: call.finishReason,
      g: call.messageId,
      x: errorText(call.error),
      q: call.request === undefined ? undefined : toRequestText(call.request),
    }),
  };
}

const errorText = (error: TracedModelCall['error']): CallText['x'] =>
  error === undefined ? undefined : [error.name, error.message, error.reason ?? null, error.status ?? null];

function toRequestText({ system, tools, parameters, messages }: TracedRequest): RequestText {
  return {
    s: system.hash,
    t: tools.hash,
    ...(Object.keys(parameters).length === 0 ? {} : { p: parameters }),
    l: messages.map((part) => {
      if ('omitted' in part) return [part.omitted] as const;
      if ('hash' in part) return part.hash;
      if ('edits' in part) return editText(part);
      return part.isBefore ? ([part.from, part.count, 1] as const) : ([part.from, part.count] as const);
    }),
  };
}

const editText = ({ isBefore, index, edits }: TracedEdit): EditText => ({
  f: index,
  ...(isBefore ? { b: 1 } : {}),
  e: edits.map(({ at, removed, inserted }) => [at, removed, inserted] as const),
});

const toToolText = (tool: TracedToolCall, age: number): ToolText => ({
  ...{ a: age, m: tool.name, g: tool.id, d: Math.round(tool.durationMs) },
  ...omitUndefined({
    z: tool.outcome === 'ok' ? undefined : tool.outcome,
    x: tool.error,
    k: tool.subagentType,
  }),
});

/** The texts of the requests of a step that many threads of a user have: system prompts, lists of tools, contexts. By hash. */
export const sharedTexts = ({ calls }: StepTrace): ReadonlyMap<string, string> =>
  byHash(
    calls.flatMap(({ request }) =>
      request === undefined ? [] : [request.system, request.tools, ...addedTexts(request).filter(isOfUser)],
    ),
  );

/** The other messages that the chain added or changed for the requests of a step, by hash: they have contents of the thread. */
export const messageTexts = ({ calls }: StepTrace): ReadonlyMap<string, string> =>
  byHash(
    calls.flatMap(({ request }) =>
      request === undefined ? [] : addedTexts(request).filter((text) => !isOfUser(text)),
    ),
  );

const addedTexts = ({ messages }: TracedRequest): readonly TracedText[] => messages.filter((part) => 'hash' in part);

const isOfUser = (text: TracedText): boolean => text.isOfUser === true;

const byHash = (texts: readonly TracedText[]): ReadonlyMap<string, string> =>
  new Map(texts.flatMap(({ hash, text }) => (text === undefined ? [] : [[hash, text] as const])));
