import { Client } from '@langchain/langgraph-sdk';
import { addressOf, ApiError, credentials } from '../../../api/request.js';
import type { Frame } from '../state/frames.js';
import { isRecord } from '../state/json.js';
import { STREAM_MODES } from './stream-modes.js';

/** Time for the answer to begin. */
const HEADERS_MS = 15_000;
/** The server sends a heartbeat every 5 seconds: a stream that is silent for longer than this has broken. */
const SILENCE_MS = 20_000;

/**
 * The address of the stream is taken out of the answer, as the client would connect again by itself, without saying so and with other
 * waits than the page.
 */
async function fetchOnce(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error('the server does not answer')), HEADERS_MS);
  try {
    const signals = [late.signal, ...(init.signal instanceof AbortSignal ? [init.signal] : [])];
    const answer = await fetch(input, { ...init, signal: AbortSignal.any(signals) });
    const headers = new Headers(answer.headers);
    headers.delete('location');
    return new Response(answer.body, { status: answer.status, statusText: answer.statusText, headers });
  } finally {
    clearTimeout(timer);
  }
}

const client = (): Client =>
  new Client({
    apiUrl: addressOf('api').replace(/\/$/, ''),
    apiKey: null,
    defaultHeaders: credentials(),
    callerOptions: { maxRetries: 0, fetch: fetchOnce },
  });

/**
 * The events of a run after one of them, or from its start.
 *
 * @throws {ApiError} when the server refuses or the connection breaks
 */
export async function* joinRun(
  run: { readonly threadId: string; readonly runId: string },
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Frame> {
  try {
    const options = {
      signal,
      lastEventId: after ?? '-1',
      streamMode: [...STREAM_MODES],
      cancelOnDisconnect: false,
      streamIdleReconnect: SILENCE_MS,
    };
    for await (const { id, event, data } of client().runs.joinStream(run.threadId, run.runId, options))
      yield { id, event, data };
  } catch (error) {
    throw new ApiError(statusOf(error), error instanceof Error ? error.message : String(error));
  }
}

const statusOf = (error: unknown): number =>
  isRecord(error) && typeof error['status'] === 'number' ? error['status'] : 0;
