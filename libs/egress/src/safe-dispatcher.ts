import { BugError } from '@caribou/contracts';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { connectOptions, type ReachSettings, targetOf } from './checked-url.js';
import { safeConnect } from './safe-connect.js';

const HEADERS_TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 120_000;
const TLS_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 32_768;

/** How long a host may be silent, in milliseconds. */
export interface FetchTimeouts {
  /** Before the headers of an answer; default a minute. */
  readonly headersTimeoutMs?: number;
  /** Between two pieces of a body; default two minutes. */
  readonly idleTimeoutMs?: number;
}

/** Makes every connection through `safeConnect`, one for each request: there is no other way out of it. */
export function safeDispatcher(settings: ReachSettings & FetchTimeouts): Dispatcher {
  const secured = buildConnector({ timeout: TLS_TIMEOUT_MS });
  const connect: buildConnector.connector = (options, callback) => {
    const openSocket = async (): Promise<void> => {
      const target = targetOf(new URL(`${options.protocol}//${options.host ?? options.hostname}`), settings);
      const socket = await safeConnect(target, connectOptions(target, settings));
      if (options.protocol === 'https:') secured({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    };
    openSocket().catch((error: unknown) => {
      callback(error instanceof Error ? error : new BugError('a connection failed without an error'), null);
    });
  };
  return new Agent({
    connect,
    pipelining: 0,
    headersTimeout: settings.headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
    bodyTimeout: settings.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
}
