/**
 * Loaded into each service before its own code: on the message `retained` it collects garbage (`--expose-gc`) and
 * replies with the bytes still in use. Resident memory alone does not show what a service retains: heaps grow with the load.
 */
process.on('message', (message) => {
  if (message !== 'retained') return;
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ type: 'retained', bytes: heapUsed + external });
});
