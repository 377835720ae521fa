import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** Named in the error when the time is over. */
  readonly what: string;
  /** Default 30 s: a bound for a machine under load, not a measurement. */
  readonly timeoutMs?: number;
  /** Pause between two checks; default 20 ms. */
  readonly everyMs?: number;
}

/**
 * Polls until `condition` returns a truthy value, and returns that. An error that it throws counts as "not yet".
 * @throws Error naming `what` and the last error, after `timeoutMs`
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitOptions,
): Promise<Exclude<T, false | null | undefined>> {
  const { what, timeoutMs = 30_000, everyMs = 20 } = options;
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value as Exclude<T, false | null | undefined>;
      last = undefined;
    } catch (cause) {
      last = cause;
    }
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`, { cause: last });
    await sleep(everyMs);
  }
}
