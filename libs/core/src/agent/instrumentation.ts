import { omitUndefined } from '@caribou/contracts';
import type { Clock } from '../util/clock.js';

/** Numbers and short constants, never text of a user or a model. */
export type TraceFields = Readonly<Record<string, string | number | boolean | string[]>>;

/** A span of a distributed trace. Times are in milliseconds since the Unix epoch, with fractions. */
export interface Span {
  /** `client` is a request to another system. */
  child(name: string, fields?: TraceFields, startMs?: number, kind?: 'client'): Span;
  event(name: string, fields?: TraceFields, atMs?: number): void;
  end(end?: { readonly fields?: TraceFields; readonly error?: unknown; readonly endMs?: number }): void;
}

/** What the functions below need of a run. */
export interface Instrumented {
  /** Sums up the work of the chain; absent when it is not recorded. */
  readonly recorder?: ChainRecorder;
  /** The span of the current model or tool call, or of the run; absent when traces are off. */
  readonly span?: Span;
  /**
   * Records what a middleware decided ("summarized", "stripped"), for the run's log line and spans. `fields` are
   * numbers and short constants, never text of a user or a model.
   */
  recordDecision(middleware: string, decision: string, fields?: TraceFields): void;
}

/** What a middleware cost a run. */
export interface ChainPart {
  readonly middleware: string;
  /** Time in its own hooks, without the layers within. */
  readonly ms: number;
  /** Hooks and layers that were called. */
  readonly calls: number;
  /** `<decision>` or `<decision> ×<times>`. */
  readonly decisions: readonly string[];
}

interface Counted {
  ms: number;
  calls: number;
  readonly decisions: Map<string, number>;
}

const MAX_MIDDLEWARES = 100;
/** Decisions that are recorded of one middleware in the run's log line, and of one hook in its span. */
const MAX_DECISIONS = 20;
/** A hook that took less and decided nothing has no span and no entry in the log line. */
const SHOWN_FROM_MS = 1;

type Parts = ReadonlyMap<string, Counted>;
const NOTHING: Counted = { ms: 0, calls: 0, decisions: new Map() };

/** Adds up what the middlewares of one run cost and decided. */
export class ChainRecorder {
  /** The sums of the current step, and of all steps before it. */
  private step = new Map<string, Counted>();
  private before: Parts = new Map();
  private readonly epochMs: number;

  constructor(private readonly clock: Pick<Clock, 'now' | 'monotonicMs'>) {
    this.epochMs = clock.now() - clock.monotonicMs();
  }

  /** Milliseconds since the Unix epoch by the monotonic clock, for all times of one run. */
  nowMs(): number {
    return this.epochMs + this.clock.monotonicMs();
  }

  recordDecision(middleware: string, decision: string): void {
    const part = this.part(middleware);
    if (part !== undefined) countDecision(part, decision, 1);
  }

  /** Counts a call of a hook that took `ms`. */
  countCall(middleware: string, ms: number): void {
    const part = this.part(middleware);
    if (part === undefined) return;
    part.ms += ms;
    part.calls += 1;
  }

  /** The time in all hooks, and the middlewares that took time or decided something, the slowest first. */
  summary(): ChainSummary {
    return summaryOf(sumOf(this.before, this.step));
  }

  /** The same of the work since `beginStep`. */
  stepSummary(): ChainSummary {
    return summaryOf(this.step);
  }

  beginStep(): void {
    this.before = sumOf(this.before, this.step);
    this.step = new Map();
  }

  private part(middleware: string): Counted | undefined {
    const known = this.step.get(middleware);
    if (known !== undefined || this.step.size >= MAX_MIDDLEWARES) return known;
    const fresh = { ms: 0, calls: 0, decisions: new Map<string, number>() };
    this.step.set(middleware, fresh);
    return fresh;
  }
}

function countDecision({ decisions }: Counted, decision: string, times: number): void {
  const known = decisions.get(decision);
  if (known === undefined && decisions.size >= MAX_DECISIONS) return;
  decisions.set(decision, (known ?? 0) + times);
}

/** The sums of both. */
function sumOf(before: Parts, step: Parts): Parts {
  if (before.size === 0) return step;
  const sums = new Map(before);
  for (const [name, part] of step) {
    const known = sums.get(name) ?? NOTHING;
    const sum = { ms: known.ms + part.ms, calls: known.calls + part.calls, decisions: new Map(known.decisions) };
    for (const [decision, times] of part.decisions) countDecision(sum, decision, times);
    sums.set(name, sum);
  }
  return sums;
}

/** What the middlewares of a run, or of one step, cost together. */
export interface ChainSummary {
  readonly durationMs: number;
  readonly chain: readonly ChainPart[];
}

function summaryOf(parts: Parts): ChainSummary {
  const shown = [...parts].filter(([, { ms, decisions }]) => toTenths(ms) >= SHOWN_FROM_MS || decisions.size > 0);
  const chain = shown.map(([middleware, { ms, calls, decisions }]) => ({
    middleware,
    ms: toTenths(ms),
    calls,
    decisions: [...decisions].map(([decision, times]) => (times === 1 ? decision : `${decision} ×${times}`)),
  }));
  const durationMs = toTenths([...parts.values()].reduce((sum, { ms }) => sum + ms, 0));
  return { durationMs, chain: chain.sort((one, other) => other.ms - one.ms) };
}

const toTenths = (ms: number): number => Math.round(ms * 10) / 10;

export interface TracedCall<Result> {
  readonly name: string;
  /** Set for a request to another system. */
  readonly kind?: 'client';
  readonly fields: TraceFields;
  /** What the result adds to the fields. */
  readonly resultFields?: (result: Result) => TraceFields;
}

/**
 * Performs a call of a model or a tool. In a trace it is a span, which contains the spans of the hooks and calls that are
 * made with the given context.
 */
export async function traceCall<Run extends Instrumented, Result>(
  run: Run,
  { name, kind, fields, resultFields }: TracedCall<Result>,
  work: (run: Run) => Promise<Result>,
): Promise<Result> {
  const { recorder } = run;
  const span = recorder && run.span?.child(name, fields, recorder.nowMs(), kind);
  if (recorder === undefined || span === undefined) return work(run);
  try {
    const result = await work({ ...run, span });
    span.end({ fields: resultFields?.(result) ?? {}, endMs: recorder.nowMs() });
    return result;
  } catch (error) {
    span.end({ error, endMs: recorder.nowMs() });
    throw error;
  }
}

interface Decision {
  readonly decision: string;
  readonly fields: TraceFields | undefined;
  readonly atMs: number;
}

/** Runs the layers within a hook, whose time is not counted as the hook's own. */
export type RunUntimed = <Result>(call: () => Promise<Result>) => Promise<Result>;

/**
 * Runs a hook of a middleware and counts its time. In a trace it is a span when it took time or decided something through
 * the given context. Its span is written when the hook is over, so layers are siblings there and do not nest.
 */
export async function traceHook<Run extends Instrumented, Result>(
  run: Run,
  hook: { readonly middleware: string; readonly hook: string },
  work: (run: Run, runUntimed: RunUntimed) => Promise<Result>,
): Promise<Result> {
  const { recorder } = run;
  if (recorder === undefined) return work(run, (call) => call());
  const decisions: Decision[] = [];
  const startMs = recorder.nowMs();
  let innerMs = 0;
  const runUntimed: RunUntimed = (call) => {
    const fromMs = recorder.nowMs();
    const stop = (): void => void (innerMs += recorder.nowMs() - fromMs);
    const result = call();
    // The failure is handled by the hook, which awaits the same promise.
    void result.then(stop, stop);
    return result;
  };
  const end = (error?: unknown): void => {
    const endMs = recorder.nowMs();
    const ownMs = Math.max(0, endMs - startMs - innerMs);
    recorder.countCall(hook.middleware, ownMs);
    if (run.span === undefined || (ownMs < SHOWN_FROM_MS && decisions.length === 0)) return;
    const { middleware, hook: name } = hook;
    writeHookSpan(run.span, { middleware, hook: name, startMs, endMs, ownMs, decisions, error });
  };
  try {
    const result = await work(run.span === undefined ? run : withDecisions(run, recorder, decisions), runUntimed);
    end();
    return result;
  } catch (error) {
    end(error);
    throw error;
  }
}

/** The run as a hook sees it whose decisions belong into its span too. */
const withDecisions = <Run extends Instrumented>(run: Run, recorder: ChainRecorder, decisions: Decision[]): Run => ({
  ...run,
  recordDecision: (middleware: string, decision: string, fields?: TraceFields) => {
    run.recordDecision(middleware, decision, fields);
    if (decisions.length < MAX_DECISIONS) decisions.push({ decision, fields, atMs: recorder.nowMs() });
  },
});

interface EndedHook {
  readonly middleware: string;
  readonly hook: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly ownMs: number;
  readonly decisions: readonly Decision[];
  readonly error: unknown;
}

function writeHookSpan(parent: Span, { middleware, hook, startMs, endMs, ownMs, decisions, error }: EndedHook): void {
  const fields = { 'caribou.middleware': middleware, 'caribou.hook': hook, 'caribou.own_ms': toTenths(ownMs) };
  const span = parent.child(`${middleware}.${hook}`, fields, startMs);
  for (const { decision, fields: decided, atMs } of decisions) span.event(decision, decided, atMs);
  span.end({ endMs, ...omitUndefined({ error }) });
}
