const FIRST_MS = 300;
const MAX_MS = 8_000;

/** Time to wait before the next try, after so many failures in a row: longer each time, and never the same in all pages. */
export const backoffMs = (failures: number, random: () => number = Math.random): number =>
  Math.min(MAX_MS, FIRST_MS * 2 ** Math.max(0, failures - 1)) * (0.75 + random() / 2);

/** Waits; returns early when the signal aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener('abort', finish, { once: true });
  });
