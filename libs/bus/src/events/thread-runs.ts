import { threadRunSubject } from '@caribou/contracts';
import type { ThreadRuns } from '../connection/bus.js';
import type { NatsLink } from '../connection/nats-link.js';

const CONFIRM_TIMEOUT_MS = 2_000;
const NOTHING = new Uint8Array();

/** Notifications that a run was admitted to a thread. Delivery is best effort: the store says which runs there are. */
export function createThreadRuns(link: NatsLink): ThreadRuns {
  const listeners = new Set<() => void>();
  link.onUp(() => {
    for (const listener of [...listeners]) listener();
  });
  return {
    publishThreadRun: ({ userId, threadId }) => {
      if (link.connected) link.connection.publish(threadRunSubject(userId, threadId), NOTHING);
    },
    subscribeThreadRuns: async ({ userId, threadId }, listener) => {
      const stop = link.subscribe(threadRunSubject(userId, threadId), listener);
      listeners.add(listener);
      try {
        if (link.connected) await link.flush(CONFIRM_TIMEOUT_MS);
      } catch {
        // The server is away or slow: the listener is called on reconnect, and its owner asks the store now and then.
      }
      return () => {
        listeners.delete(listener);
        stop();
      };
    },
  };
}
