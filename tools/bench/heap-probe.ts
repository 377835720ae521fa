/**
 * Loaded into each service before its own code: on the message `retained` it collects garbage (`--expose-gc`) and
 * answers what is still in use. Resident memory alone does not tell what a service keeps: heaps grow with the pace.
 */
process.on('message', (message) => {
  if (message !== 'retained') return;
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ type: 'retained', bytes: heapUsed + external });
});
