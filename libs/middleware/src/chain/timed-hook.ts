import type { Clock, HookWatch, Span, WatchFields } from '@caribou/core';

/** What a middleware cost, as it is added up. */
export interface HookCount {
  ms: number;
  calls: number;
}

/** Where a hook is told of in a trace. */
export interface HookPlaceInTrace {
  readonly parent: Span;
  readonly middleware: string;
  readonly hook: string;
  /** What makes an epoch time of a monotonic one. */
  readonly epochMs: number;
}

/** A hook that took less and decided nothing is not told apart. */
export const TOLD_FROM_MS = 1;
/** Decisions told of one hook. */
const MAX_DECISIONS = 20;

interface Decision {
  readonly decision: string;
  readonly fields: WatchFields | undefined;
  readonly atMs: number;
}

/** One call of a hook. Made for every hook of every turn, so it allocates little. */
export class TimedHook implements HookWatch {
  readonly decided?: (decision: string, fields?: WatchFields) => void;
  private readonly startMs: number;
  private readonly decisions: Decision[] | undefined;
  private innerMs = 0;

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly count: HookCount | undefined,
    private readonly told: HookPlaceInTrace | undefined,
  ) {
    this.startMs = clock.monotonicMs();
    if (told === undefined) return;
    const decisions: Decision[] = [];
    this.decisions = decisions;
    this.decided = (decision, fields) => {
      const atMs = told.epochMs + clock.monotonicMs();
      if (decisions.length < MAX_DECISIONS) decisions.push({ decision, fields, atMs });
    };
  }

  inner<T>(call: () => Promise<T>): Promise<T> {
    const fromMs = this.clock.monotonicMs();
    const stop = (): void => void (this.innerMs += this.clock.monotonicMs() - fromMs);
    const result = call();
    // A failure is the hook's to hear of: it has this very promise.
    void result.then(stop, stop);
    return result;
  }

  end(error?: unknown): void {
    const endMs = this.clock.monotonicMs();
    const ownMs = Math.max(0, endMs - this.startMs - this.innerMs);
    if (this.count !== undefined) {
      this.count.ms += ownMs;
      this.count.calls += 1;
    }
    if (this.told !== undefined) this.tell(this.told, { ownMs, endMs, error });
  }

  private tell(
    told: HookPlaceInTrace,
    { ownMs, endMs, error }: { ownMs: number; endMs: number; error: unknown },
  ): void {
    const { decisions = [] } = this;
    if (ownMs < TOLD_FROM_MS && decisions.length === 0) return;
    const { parent, middleware, hook, epochMs } = told;
    const fields = { 'caribou.middleware': middleware, 'caribou.hook': hook, 'caribou.own_ms': tenths(ownMs) };
    const span = parent.child(`${middleware}.${hook}`, fields, epochMs + this.startMs);
    for (const { decision, fields: said, atMs } of decisions) span.event(decision, said, atMs);
    span.end({ endMs: epochMs + endMs, ...(error === undefined ? {} : { error }) });
  }
}

export const tenths = (ms: number): number => Math.round(ms * 10) / 10;
