import crypto from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { context, type Entry, type Scheduler, type SimProcess, SimImmediate } from './scheduler.js';

/** A timer of a simulated process, instead of Node's. */
class SimTimer {
  private entry: Entry;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly process: SimProcess,
    private readonly spec: { readonly run: () => void; readonly ms: number; readonly repeats: boolean },
  ) {
    this.entry = this.arm();
  }

  cancel(): void {
    this.entry.cancelled = true;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  private arm(): Entry {
    const { run, ms, repeats } = this.spec;
    return this.scheduler.after(Math.max(1, ms), this.process, 'timer', () => {
      if (repeats) this.entry = this.arm();
      run();
    });
  }
}

type Callback = (...args: unknown[]) => void;

function timer(run: Callback, ms: number, repeats: boolean): SimTimer | undefined {
  const current = context.getStore();
  return current === undefined
    ? undefined
    : new SimTimer(current.scheduler, current.process, { run: () => run(), ms, repeats });
}

/**
 * Gives simulated processes timers, clocks and ids of the scheduler. Code outside of a simulated process, such as the
 * connection to the real Redis, uses Node's own.
 */
export function installVirtualGlobals(): void {
  // The signal of a run lives as long as the run, and each request of a history listens to it.
  setMaxListeners(0);
  const real = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
  const realNow = Date.now.bind(Date);
  const realMonotonic = performance.now.bind(performance);
  const realRandom = Math.random.bind(Math);
  const realUuid = crypto.randomUUID.bind(crypto);
  const clear = (handle: unknown, otherwise: (handle: never) => void): void => {
    if (handle instanceof SimTimer) handle.cancel();
    else if (handle instanceof SimImmediate) handle.cancelled = true;
    else otherwise(handle as never);
  };
  const immediate = (run: Callback, ...args: unknown[]): unknown => {
    const current = context.getStore();
    if (current === undefined) return real.setImmediate(run, ...args);
    return current.scheduler.immediate(current.process, () => run(...args));
  };
  Object.assign(globalThis, {
    setTimeout: (run: Callback, ms = 0, ...args: unknown[]) =>
      timer(() => run(...args), ms, false) ?? real.setTimeout(run, ms, ...args),
    setInterval: (run: Callback, ms = 0, ...args: unknown[]) =>
      timer(() => run(...args), ms, true) ?? real.setInterval(run, ms, ...args),
    setImmediate: immediate,
    clearTimeout: (handle: unknown) => clear(handle, real.clearTimeout),
    clearInterval: (handle: unknown) => clear(handle, real.clearInterval),
    clearImmediate: (handle: unknown) => clear(handle, real.clearImmediate),
  });
  const realTimeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    const late = (): void => controller.abort(new DOMException('the time is up', 'TimeoutError'));
    return timer(late, ms, false) === undefined ? realTimeout(ms) : controller.signal;
  };
  Date.now = () => {
    const current = context.getStore();
    return current === undefined ? realNow() : Math.floor(current.scheduler.wallMs);
  };
  performance.now = () => context.getStore()?.scheduler.nowMs ?? realMonotonic();
  Math.random = () => context.getStore()?.scheduler.random.next() ?? realRandom();
  crypto.randomUUID = (options) =>
    (context.getStore()?.scheduler.random.uuid() as ReturnType<typeof realUuid> | undefined) ?? realUuid(options);
}
