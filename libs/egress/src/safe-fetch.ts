import { AppError, BugError, DeadlineError, TooLargeError, UnavailableError, omitUndefined } from '@caribou/contracts';
import type { SafeFetch } from '@caribou/core';
import { type Dispatcher, fetch, type Response as RawResponse } from 'undici';
import { parseUrl, type ReachSettings, targetOf } from './checked-url.js';
import { nextHop, type Hop } from './redirect.js';
import { type FetchTimeouts, safeDispatcher } from './safe-dispatcher.js';

export interface SafeFetchSettings extends ReachSettings, FetchTimeouts {
  /** Bytes of a body, decompressed. */
  readonly maxBytes: number;
  /** From the call to the body's last byte, in milliseconds. Absent: as long as the caller's signal lets it, for streams. */
  readonly timeoutMs?: number;
  /** Default 5. */
  readonly maxRedirects?: number;
}

const MAX_REDIRECTS = 5;
const MAX_CAUSES = 5;
const MAX_REASON_CHARS = 200;
/** Answers that cannot have a body. */
const BODILESS = [204, 205, 304];
const UNDONE = ['content-encoding', 'content-length', 'transfer-encoding'];

/**
 * A `fetch` for URLs that others name: http and https only, no credentials in the URL, the host resolved once, every
 * address of it checked, the connection made to the checked address, and each redirect checked like the first URL.
 * Redirects are followed whatever `init.redirect` says; to another origin neither secrets nor a body go along.
 *
 * The function throws InvalidRequestError or ForbiddenError for what may not be fetched, UnavailableError or
 * DeadlineError when the host does not answer in time, and the reason of an aborted signal. Bodies of its answers throw the last
 * two and, over `maxBytes`, TooLargeError.
 */
export function safeFetch(settings: SafeFetchSettings): SafeFetch {
  const dispatcher = safeDispatcher(settings);
  return async (input, init = {}) => {
    const timeout = settings.timeoutMs === undefined ? undefined : AbortSignal.timeout(settings.timeoutMs);
    const signals = [init.signal ?? undefined, timeout].filter((signal) => signal !== undefined);
    const call = { dispatcher, settings, timeout, signal: AbortSignal.any(signals) };
    let hop = firstHop(input, init);
    for (let redirects = 0; redirects <= (settings.maxRedirects ?? MAX_REDIRECTS); redirects++) {
      const answer = await answerTo(hop, call);
      const next = nextHop(hop, answer);
      if (next === undefined) return toBoundedResponse(answer, hop, call);
      await answer.body?.cancel();
      hop = next;
    }
    throw unavailable(`${hop.url.host} redirects too often`);
  };
}

interface Call {
  readonly dispatcher: Dispatcher;
  readonly settings: SafeFetchSettings;
  readonly timeout: AbortSignal | undefined;
  readonly signal: AbortSignal;
}

function firstHop(input: string | URL, { method = 'GET', headers, body }: RequestInit): Hop {
  const url = parseUrl(String(input));
  const first = { url, method: method.toUpperCase(), headers: new Headers(headers) };
  if (body === undefined || body === null) return first;
  if (typeof body === 'string' || body instanceof Uint8Array) return { ...first, body };
  if (!(body instanceof URLSearchParams)) throw new BugError('safeFetch sends text, bytes and forms only');
  if (!first.headers.has('content-type'))
    first.headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
  return { ...first, body: String(body) };
}

async function answerTo({ url, method, headers, body }: Hop, call: Call): Promise<RawResponse> {
  targetOf(url, call.settings);
  try {
    return await fetch(url, {
      method,
      headers: [...headers],
      redirect: 'manual',
      signal: call.signal,
      dispatcher: call.dispatcher,
      ...omitUndefined({ body }),
    });
  } catch (error) {
    throw failureOf(error, url, call);
  }
}

/** Converts the answer to a response whose body is limited. */
function toBoundedResponse(answer: RawResponse, { url, method }: Hop, call: Call): Response {
  const { status, statusText } = answer;
  const headers = new Headers([...answer.headers].filter(([name]) => !UNDONE.includes(name)));
  const isEmpty = method === 'HEAD' || BODILESS.includes(status);
  const body = answer.body === null || isEmpty ? null : limitBody(answer.body.getReader(), url, call);
  const response = new Response(body, { status, statusText, headers });
  // An answer that was made rather than received has no URL of its own.
  Object.defineProperty(response, 'url', { value: url.href });
  return response;
}

/** Read without a buffer of the reader's own, whatever kinds of readers the types in use know. */
interface Reader {
  read(): Promise<unknown>;
  cancel(reason?: unknown): Promise<void>;
}

function limitBody(reader: Reader, url: URL, call: Call): ReadableStream<Uint8Array> {
  const { maxBytes } = call.settings;
  let bytes = 0;
  const piece = async (): Promise<Uint8Array | undefined> => {
    const { value } = (await reader.read()) as { readonly value?: Uint8Array };
    bytes += value?.byteLength ?? 0;
    if (bytes <= maxBytes) return value;
    await reader.cancel();
    throw new TooLargeError(`the answer of ${url.host} is larger than ${maxBytes} bytes`, {
      details: { limitBytes: maxBytes },
    });
  };
  return new ReadableStream({
    pull: async (controller) => {
      const value = await piece().catch((error: unknown) => {
        throw failureOf(error, url, call);
      });
      if (value === undefined) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Why a request failed: our own reason wherever it is among the causes, else the connection's. */
function failureOf(error: unknown, url: URL, { settings, timeout, signal }: Call): unknown {
  if (timeout?.aborted === true)
    return new DeadlineError(`${url.host} did not answer within ${settings.timeoutMs} ms`, {
      details: { afterMs: settings.timeoutMs },
    });
  if (signal.aborted) return signal.reason;
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    if (cause instanceof AppError) return cause;
    if (cause.cause === undefined) break;
    cause = cause.cause;
  }
  const reason = (cause instanceof Error ? cause.message : String(cause)).slice(0, MAX_REASON_CHARS);
  return unavailable(`${url.host} does not answer as it should: ${reason}`, error);
}

const unavailable = (text: string, cause?: unknown): UnavailableError =>
  new UnavailableError(text, { cause, details: { dependency: 'egress' } });
