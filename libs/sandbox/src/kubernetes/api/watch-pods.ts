import { deadlineSignal } from '@caribou/core';
import type { ApiConnection } from './api-connection.js';
import { ApiFailure, failureOfConnection } from './api-failure.js';
import { WatchEvent } from './pod.js';

/** The server ends a watch after this time; the next one begins where it ended. */
const WATCH_SECONDS = 240;
/** Beyond that, a connection that has gone silent is given up. */
const SILENCE_MS = 30_000;
const MAX_LINE_BYTES = 4 * 1024 * 1024;

export interface WatchRequest {
  readonly namespace: string;
  readonly selector: string;
  /** Events after this version are wanted. */
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
}

/**
 * The events of one watch, until the server ends it or the connection breaks.
 *
 * @throws {ApiFailure} with status 410 when the server does not have the events since that version any more
 */
export async function* watchPods(connection: ApiConnection, request: WatchRequest): AsyncGenerator<WatchEvent> {
  const { namespace, selector, resourceVersion, signal } = request;
  const deadline = AbortSignal.any([signal, deadlineSignal(WATCH_SECONDS * 1_000 + SILENCE_MS)]);
  const answer = await connection.stream(
    {
      ...{ verb: 'watch', resource: 'pods', namespace, method: 'GET', path: `/api/v1/namespaces/${namespace}/pods` },
      query: {
        watch: 'true',
        labelSelector: selector,
        resourceVersion,
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(WATCH_SECONDS),
      },
    },
    deadline,
  );
  try {
    for await (const line of linesOf(answer)) yield parseEvent(line);
  } catch (error) {
    if (error instanceof ApiFailure) throw error;
    throw failureOfConnection('a watch has broken', error);
  } finally {
    answer.destroy();
  }
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      yield Buffer.concat([...rest, chunk.subarray(from, end)]).toString('utf8');
      [rest, bytes, from] = [[], 0, end + 1];
    }
    bytes += chunk.length - from;
    if (bytes > MAX_LINE_BYTES) throw failureOfConnection(`an event has more than ${MAX_LINE_BYTES} bytes`, undefined);
    if (from < chunk.length) rest.push(chunk.subarray(from));
  }
}

function parseEvent(line: string): WatchEvent {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw failureOfConnection('an event of a watch is not JSON', cause);
  }
  const parsed = WatchEvent.safeParse(value);
  if (!parsed.success) throw failureOfConnection('an event of a watch cannot be read', parsed.error);
  if (parsed.data.type !== 'ERROR') return parsed.data;
  const { code, message = 'no reason' } = parsed.data.object;
  throw new ApiFailure(`a watch of pods has ended: ${message}`, {
    ...(code === undefined ? {} : { httpStatus: code }),
    isTransient: true,
    isRefused: true,
  });
}
