import { DeadlineError, TooLargeError, UnavailableError } from '@caribou/contracts';
import { headers, type Msg } from 'nats';
import type { Bus, RequestOptions } from '../connection/bus.js';
import { natsFailure } from '../connection/nats-errors.js';
import type { NatsLink } from '../connection/nats-link.js';

interface Waiting {
  readonly subject: string;
  readonly resolve: (data: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

const NO_RESPONDERS = 503;

/**
 * Requests over one shared reply inbox, so that a wait can be given up at any moment without a trace. A lost
 * connection ends all waits, as the reply may have been lost with it.
 */
export function createRequests(link: NatsLink): Bus['request'] {
  const inbox = link.inbox();
  const waiting = new Map<string, Waiting>();
  let count = 0;
  link.subscribe(`${inbox}.*`, (message) => {
    const token = message.subject.slice(inbox.length + 1);
    const waiter = waiting.get(token);
    if (waiter !== undefined) settle(waiter, message);
  });
  link.onDown(() => {
    for (const { subject, reject } of waiting.values())
      reject(unavailable(`the connection was lost while waiting for ${subject}`));
  });
  return async (subject, payload, options) => {
    options.signal?.throwIfAborted();
    const token = (count++).toString(36);
    let stop: () => void = () => undefined;
    try {
      return await new Promise<Uint8Array>((resolve, reject) => {
        waiting.set(token, { subject, resolve, reject });
        stop = giveUpOn(options, subject, reject);
        send(link, { subject, payload, reply: `${inbox}.${token}`, options });
      });
    } finally {
      waiting.delete(token);
      stop();
    }
  };
}

function settle({ subject, resolve, reject }: Waiting, message: Msg): void {
  if (message.headers?.code === NO_RESPONDERS && message.data.length === 0) {
    reject(unavailable(`nobody answers on ${subject}`));
  } else resolve(message.data);
}

/** Rejects at the deadline or the abort, whichever is first; answers how to forget both. */
function giveUpOn(
  { timeoutMs, signal }: RequestOptions,
  subject: string,
  reject: (error: unknown) => void,
): () => void {
  const timer = setTimeout(() => {
    reject(new DeadlineError(`no reply from ${subject} within ${timeoutMs} ms`, { details: { afterMs: timeoutMs } }));
  }, timeoutMs);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  };
}

interface Outgoing {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly reply: string;
  readonly options: RequestOptions;
}

function send(link: NatsLink, { subject, payload, reply, options }: Outgoing): void {
  const { connection } = link;
  const limitBytes = connection.info?.max_payload ?? 1_048_576;
  const head = headers();
  let headBytes = 64;
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    head.set(name, value);
    headBytes += name.length + value.length + 4;
  }
  if (payload.length + headBytes > limitBytes) {
    throw new TooLargeError(`the request to ${subject} has ${payload.length} bytes; the bus carries ${limitBytes}`, {
      details: { limitBytes },
    });
  }
  try {
    connection.publish(subject, payload, { reply, headers: head });
  } catch (cause) {
    throw natsFailure(`send to ${subject}`, cause);
  }
}

const unavailable = (reason: string): UnavailableError =>
  new UnavailableError(`NATS: ${reason}`, { details: { dependency: 'nats' } });
