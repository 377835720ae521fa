import { type AgentMiddleware, lastReadHash } from '@caribou/core';

const CHANGING = new Set(['write_file', 'str_replace']);

/**
 * Lets the agent change a file only as it knows it. What `read_file` showed leaves its hash in the thread; a change of a
 * file that is there goes with the newest hash, and is refused when the file has another, or was never read. Hash and
 * change are one act of the sandbox's manager. A change leaves no hash, so the file is read again before the next one;
 * a new file needs none. Calls of one answer know only what earlier answers read.
 */
export function readBeforeWrite(): AgentMiddleware {
  return {
    name: 'read-before-write',
    wrapToolCall(request, next) {
      const { name, args } = request.call;
      const path = CHANGING.has(name) ? args['path'] : undefined;
      if (typeof path !== 'string') return next(request);
      return next({ ...request, expectedFile: { sha256: lastReadHash(request.state.messages, path) } });
    },
  };
}
