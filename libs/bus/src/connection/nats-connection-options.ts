import type { BusAccess, NatsSecurity } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { ConnectionOptions } from 'nats';
import { natsTarget } from './nats-target.js';

export const RECONNECT_WAIT_MS = 250;
const CONNECT_TIMEOUT_MS = 5_000;
/** Number of unanswered pings in a row after which the client abandons a server. */
const PING_INTERVAL_MS = 5_000;

export interface LinkOptions extends NatsSecurity {
  readonly url: string;
  readonly name: string;
  readonly logger: Logger;
  readonly access?: BusAccess;
}

/** Options of the `nats` client for a connection that reconnects for as long as the process lives. */
export function connectionOptions(options: LinkOptions): ConnectionOptions {
  return {
    ...natsTarget(options.url, options),
    name: options.name,
    ...(options.access === undefined ? {} : { inboxPrefix: options.access.inboxPrefix }),
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    reconnectJitter: RECONNECT_WAIT_MS,
    ignoreAuthErrorAbort: true,
    // Recording a stack for each request costs more than the request itself.
    noAsyncTraces: true,
  };
}
