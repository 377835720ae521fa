/** A module gave nothing for its time. */
export class ModuleSilence extends Error {
  constructor(
    readonly hadBegun: boolean,
    waitMs: number,
  ) {
    super(`${waitMs} ms`);
  }
}

export interface Wait {
  readonly waitMs: number;
  /** Whether the answer has begun. */
  readonly hasBegun: boolean;
  readonly signal: AbortSignal;
}

/**
 * Awaits the next value of an iterator that may never answer.
 *
 * @throws {ModuleSilence} after `waitMs`; the signal's reason when it is aborted; what the iterator throws
 */
export async function nextWithin<T>(
  iterator: AsyncIterator<T>,
  { waitMs, hasBegun, signal }: Wait,
): Promise<IteratorResult<T>> {
  signal.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const given = iterator.next();
  given.catch(() => undefined);
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(() => {
        reject(new ModuleSilence(hasBegun, waitMs));
      }, waitMs);
      onAbort = () => {
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      given.then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
