/**
 * Aborts with a TimeoutError after `afterMs`, as AbortSignal.timeout does, and also when nothing but AbortSignal.any refers to it: Node collects a
 * signal of AbortSignal.timeout as garbage then, and its deadline is never reported. The timer does not keep the process running.
 */
export function deadlineSignal(afterMs: number): AbortSignal {
  const deadline = new AbortController();
  const timer = setTimeout(() => {
    deadline.abort(new DOMException(`not done within ${afterMs} ms`, 'TimeoutError'));
  }, afterMs);
  timer.unref();
  return deadline.signal;
}
