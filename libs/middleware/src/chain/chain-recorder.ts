import type { CallWatch, Clock, HookWatch, RunWatch, Span, WatchFields } from '@caribou/core';
import { type HookCount, tenths, TimedHook, TOLD_FROM_MS } from './timed-hook.js';

export interface ChainRecorderOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** The run in a trace; absent when traces are off. */
  readonly span?: Span;
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

interface Counted extends HookCount {
  readonly decisions: Map<string, number>;
}

const MAX_MIDDLEWARES = 100;
/** Decisions told of one middleware. */
const MAX_DECISIONS = 20;

/**
 * Adds up what the middlewares of one run did, and tells the run's trace, where there is one, of each call and of each
 * hook that took time or decided something. Hooks are children of the call they stand around: spans are written when
 * a hook is over, so layers do not nest in each other.
 */
export class ChainRecorder implements RunWatch {
  private readonly parts = new Map<string, Counted>();
  private readonly epochMs: number;

  constructor(private readonly options: ChainRecorderOptions) {
    this.epochMs = options.clock.now() - options.clock.monotonicMs();
  }

  /** Counts a decision; which hook made it is told apart. */
  decided(middleware: string, decision: string): void {
    const decisions = this.part(middleware)?.decisions;
    const times = decisions?.get(decision);
    if (decisions === undefined || (times === undefined && decisions.size >= MAX_DECISIONS)) return;
    decisions.set(decision, (times ?? 0) + 1);
  }

  call(name: string, fields?: WatchFields): CallWatch | undefined {
    const { span } = this.options;
    return span === undefined ? undefined : this.callIn(span, name, fields);
  }

  hook(middleware: string, hook: string): HookWatch {
    return this.hookIn(this.options.span, middleware, hook);
  }

  /** The time in all hooks, and the middlewares that took time or decided something, the slowest first. */
  summary(): { readonly durationMs: number; readonly chain: readonly ChainPart[] } {
    const all = [...this.parts].map(([middleware, { ms, calls, decisions }]) => ({
      middleware,
      ms: tenths(ms),
      calls,
      decisions: [...decisions].map(([decision, times]) => (times === 1 ? decision : `${decision} ×${times}`)),
    }));
    const told = all.filter(({ ms, decisions }) => ms >= TOLD_FROM_MS || decisions.length > 0);
    const durationMs = tenths([...this.parts.values()].reduce((sum, { ms }) => sum + ms, 0));
    return { durationMs, chain: told.sort((one, other) => other.ms - one.ms) };
  }

  private callIn(parent: Span, name: string, fields: WatchFields = {}): CallWatch {
    const span = parent.child(name, fields, this.nowMs());
    return {
      call: (inner, innerFields) => this.callIn(span, inner, innerFields),
      hook: (middleware, hook) => this.hookIn(span, middleware, hook),
      end: (end = {}) => span.end({ ...end, endMs: this.nowMs() }),
    };
  }

  private hookIn(parent: Span | undefined, middleware: string, hook: string): HookWatch {
    const told = parent === undefined ? undefined : { parent, middleware, hook, epochMs: this.epochMs };
    return new TimedHook(this.options.clock, this.part(middleware), told);
  }

  private part(middleware: string): Counted | undefined {
    const known = this.parts.get(middleware);
    if (known !== undefined || this.parts.size >= MAX_MIDDLEWARES) return known;
    const fresh = { ms: 0, calls: 0, decisions: new Map<string, number>() };
    this.parts.set(middleware, fresh);
    return fresh;
  }

  private nowMs(): number {
    return this.epochMs + this.options.clock.monotonicMs();
  }
}
