import {
  BugError,
  DeadlineError,
  fromWireError,
  InvalidRequestError,
  newId,
  type RpcContract,
  TooLargeError,
  UnavailableError,
  WireError,
  omitUndefined,
} from '@caribou/contracts';
import { headers, type Msg } from 'nats';
import { encodeAttached, utf8Bytes, utf8Text } from '@caribou/core';
import { z } from 'zod';
import type { RpcClient } from '../connection/procedures.js';
import { natsFailure } from '../connection/nats-errors.js';
import type { NatsLink } from '../connection/nats-link.js';
import { isLongText, LongTexts } from '../connection/long-texts.js';

export interface RequestOptions {
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the wait; the receiver is not notified. */
  readonly signal?: AbortSignal;
}

/**
 * Sends one request and resolves with its first reply.
 *
 * @throws {UnavailableError} at once without a connection or a responder, and when the connection is lost while waiting
 * @throws {DeadlineError} after `timeoutMs`
 * @throws {TooLargeError} when the request is over the server's limit
 * @throws the signal's reason
 */
export type SendRequest = (subject: string, payload: Uint8Array, options: RequestOptions) => Promise<Uint8Array>;

/** What a Nest handler answers: one packet with a response or an error. */
const Packet = z.looseObject({ response: z.unknown().optional(), err: z.unknown().optional() });

/** A client for Nest's handlers in Nest's packet format; `send` carries the packets. */
export function createRpcClient(send: SendRequest): RpcClient {
  return {
    call: async ({ contract, subject = contract.name }, payload, options = {}) => {
      const request = contract.request.safeParse(payload);
      if (!request.success) {
        throw new InvalidRequestError(`${contract.name}: ${z.prettifyError(request.error)}`);
      }
      const timeoutMs = options.timeoutMs ?? contract.timeoutMs;
      const attachable = options.attaches === true ? contract.attachable : undefined;
      const packet =
        attachedPacketOf(subject, request.data, attachable ?? []) ??
        packetOf(subject, request.data, options.texts ?? new LongTexts());
      const data = await send(subject, packet, {
        timeoutMs,
        ...omitUndefined({ headers: options.headers, signal: options.signal }),
      });
      return readReply(contract, data);
    },
  };
}

/** A request in Nest's format. */
const packetOf = (pattern: string, data: unknown, texts: LongTexts): Uint8Array =>
  Buffer.concat([
    Buffer.from(`{"pattern":${JSON.stringify(pattern)},"data":`),
    ...texts.value(data),
    Buffer.from(`,"id":"${newId()}"}`),
  ]);

/** The same with the long texts of some fields attached; undefined when there are none. */
function attachedPacketOf(pattern: string, data: unknown, names: readonly string[]): Uint8Array | undefined {
  if (names.length === 0 || typeof data !== 'object' || data === null) return undefined;
  const fields: Readonly<Record<string, unknown>> = { ...data };
  const long = names.flatMap((name) => {
    const text = fields[name];
    return isLongText(text) ? [{ name, bytes: utf8Bytes(text) }] : [];
  });
  if (long.length === 0) return undefined;
  // A field without a value has none in JSON.
  const rest = { ...fields, ...Object.fromEntries(long.map(({ name }) => [name, undefined])) };
  const attached = long.map(({ name, bytes }) => [name, bytes.byteLength]);
  return encodeAttached(
    { pattern, data: rest, id: newId(), attached },
    long.map(({ bytes }) => bytes),
  );
}

function readReply<Reply extends z.ZodType>(
  contract: RpcContract<z.ZodType, Reply>,
  data: Uint8Array,
): z.output<Reply> {
  const packet = Packet.safeParse(jsonOrUndefined(data));
  if (!packet.success) throw new BugError(`${contract.name}: the reply is not a packet`);
  if (packet.data.err !== undefined && packet.data.err !== null) {
    const error = WireError.safeParse(packet.data.err);
    throw error.success ? fromWireError(error.data) : new BugError(`${contract.name}: failed without a known error`);
  }
  const reply = contract.reply.safeParse(packet.data.response);
  if (!reply.success)
    throw new BugError(`${contract.name}: the reply breaks the contract: ${z.prettifyError(reply.error)}`);
  return reply.data;
}

function jsonOrUndefined(data: Uint8Array): unknown {
  try {
    return JSON.parse(utf8Text(data));
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

interface Waiting {
  readonly subject: string;
  readonly resolve: (data: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

const NO_RESPONDERS = 503;

/**
 * Sends requests over NATS. All replies arrive in one inbox, so a caller can stop waiting at any moment without leaving
 * a subscription. A lost connection ends all waits, as the reply may have been lost with it.
 */
export function natsRequests(link: NatsLink): SendRequest {
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
        stop = rejectWhenOver(options, subject, reject);
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
    reject(unavailable(`nobody answers on ${subject}`, { noEffect: true }));
  } else resolve(message.data);
}

/** Rejects at the deadline or the abort, whichever is first. The returned function cancels both. */
function rejectWhenOver(
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

const unavailable = (reason: string, details: Readonly<Record<string, unknown>> = {}): UnavailableError =>
  new UnavailableError(`NATS: ${reason}`, { details: { dependency: 'nats', ...details } });
