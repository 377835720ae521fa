import { UnavailableError } from '@caribou/contracts';

/** Longest pause between two attempts, in milliseconds. */
const MAX_PAUSE_MS = 500;

/**
 * Repeats a read while the store is unavailable, so that an open stream survives a restart of Redis.
 *
 * @throws the signal's reason
 */
export async function retryWhileUnavailable<T>(
  read: () => Promise<T>,
  options: { readonly checkMs: number; readonly signal: AbortSignal },
): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
    }
    await pause(Math.min(options.checkMs, MAX_PAUSE_MS), options.signal);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener('abort', finish, { once: true });
  });
  signal.throwIfAborted();
}
