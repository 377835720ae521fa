import { BugError } from '@caribou/contracts';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { connectOptions, type ReachSettings, targetOf } from './checked-url.js';
import { safeConnect } from './safe-connect.js';

const HEADERS_TIMEOUT_MS = 60_000;
/** Between two pieces of a body. */
const IDLE_TIMEOUT_MS = 120_000;
const TLS_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 32_768;

/** Makes every connection through `safeConnect`, one for each request: there is no other way out of it. */
export function safeDispatcher(settings: ReachSettings): Dispatcher {
  const secured = buildConnector({ timeout: TLS_TIMEOUT_MS });
  const connect: buildConnector.connector = (options, callback) => {
    const opened = async (): Promise<void> => {
      const target = targetOf(new URL(`${options.protocol}//${options.host ?? options.hostname}`), settings);
      const socket = await safeConnect(target, connectOptions(target, settings));
      if (options.protocol === 'https:') secured({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    };
    opened().catch((error: unknown) => {
      callback(error instanceof Error ? error : new BugError('a connection failed without an error'), null);
    });
  };
  return new Agent({
    connect,
    pipelining: 0,
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: IDLE_TIMEOUT_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
}
