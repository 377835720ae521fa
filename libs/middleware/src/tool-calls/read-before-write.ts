import { type AgentMiddleware, lastReadHash } from '@caribou/core';

const CHANGING = new Set(['write_file', 'str_replace']);

/**
 * Allows the agent to change a file only if it has read its current content. `read_file` stores the content's hash in
 * the thread; a change of an existing file is sent with the newest hash, and is refused when the file has another one
 * or was never read. The sandbox-manager checks the hash and changes the file in one step. A change stores no hash, so
 * the file must be read again before the next one; a new file needs none. Calls of one answer only use hashes of
 * earlier answers.
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
