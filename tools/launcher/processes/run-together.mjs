/**
 * Runs the tasks concurrently. When one fails, the signal of the others aborts and they are awaited, so that none is
 * running when the first failure is thrown.
 *
 * @template {readonly ((signal: AbortSignal) => Promise<unknown>)[]} T
 * @param {AbortSignal} signal
 * @param {readonly [...T]} tasks
 * @returns {Promise<{ [K in keyof T]: Awaited<ReturnType<T[K]>> }>}
 */
export async function runTogether(signal, tasks) {
  const failed = new AbortController();
  const inner = AbortSignal.any([signal, failed.signal]);
  const running = tasks.map(async (task) => {
    try {
      inner.throwIfAborted();
      return await task(inner);
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(running);
  signal.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
  return /** @type {{ [K in keyof T]: Awaited<ReturnType<T[K]>> }} */ (await Promise.all(running));
}
