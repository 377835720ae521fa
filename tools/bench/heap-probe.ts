import { Socket } from 'node:net';
import { queryObjects } from 'node:v8';

/**
 * Loaded into each service before its own code: on the message `retained` it collects garbage (`--expose-gc`) and
 * replies with the bytes still in use, and how many timers, sockets and active resources there are. Resident memory alone does not
 * show what a service retains: heaps grow with the load.
 */
const anyTimer = setTimeout(() => undefined, 0);
/** The class of all timers; also of those that do not keep a process alive, which are no active resources. */
const Timer = anyTimer.constructor;
clearTimeout(anyTimer);

process.on('message', (message) => {
  if (message !== 'retained') return;
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const timers = queryObjects(Timer, { format: 'count' });
  const sockets = queryObjects(Socket, { format: 'count' });
  const resources = process.getActiveResourcesInfo().length;
  process.send?.({ type: 'retained', bytes: heapUsed + external, timers, sockets, resources });
});
