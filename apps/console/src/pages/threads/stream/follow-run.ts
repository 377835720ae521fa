import { ApiError } from '../../../api/request.js';
import type { Frame } from '../state/frames.js';
import { isRecord, stringOf } from '../state/json.js';
import { backoffMs, pause } from './backoff.js';

/**
 * How following a run has ended. `gone`: there is no such run any more. `gap`: events were lost, and the stream continues after the
 * named one. `aborted`: the signal has aborted.
 */
export type FollowEnd =
  | { readonly kind: 'ended' | 'gone' | 'aborted' }
  | { readonly kind: 'gap'; readonly latest: string | undefined };

export interface FollowPorts {
  /** Opens the stream of the run after an event, or from its start. @throws {ApiError} when it is refused or breaks */
  readonly join: (after: string | undefined, signal: AbortSignal) => AsyncIterable<Frame>;
  readonly onFrames: (frames: readonly Frame[]) => void;
  /** Whether events arrive, or the page tries to connect again. */
  readonly onConnection: (isConnected: boolean) => void;
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Refusals that a later try does not change. */
const isFinal = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.status >= 400 &&
  error.status < 500 &&
  ![404, 408, 425, 429].includes(error.status);

/**
 * Follows a run to its end, across lost connections and servers that are replaced: whenever the stream breaks it is opened again
 * after the last event.
 *
 * @throws {ApiError} for a refusal that a later try does not change, such as an expired session
 */
export async function followRun(ports: FollowPorts, from: string | undefined, signal: AbortSignal): Promise<FollowEnd> {
  const wait = ports.pause ?? pause;
  const position: Position = { last: from, failures: 0 };
  while (!signal.aborted) {
    const end = await readStream(ports, position, signal);
    if (end !== undefined) return end;
    // The stream of a run that is over ends with `end`; without it, it has broken.
    position.failures += 1;
    if (position.failures > 1) ports.onConnection(false);
    await wait(backoffMs(position.failures), signal);
  }
  return { kind: 'aborted' };
}

interface Position {
  last: string | undefined;
  failures: number;
}

/** Reads one connection; undefined when it has broken and another try may succeed. */
async function readStream(ports: FollowPorts, position: Position, signal: AbortSignal): Promise<FollowEnd | undefined> {
  try {
    for await (const frame of ports.join(position.last, signal)) {
      ports.onConnection(true);
      position.failures = 0;
      if (frame.event === 'gap') return gapOf(frame);
      ports.onFrames([frame]);
      position.last = frame.id ?? position.last;
      if (frame.event === 'end') return { kind: 'ended' };
    }
    return undefined;
  } catch (error) {
    if (signal.aborted) return { kind: 'aborted' };
    if (error instanceof ApiError && error.status === 404) return { kind: 'gone' };
    if (isFinal(error) || !(error instanceof Error)) throw error;
    return undefined;
  }
}

const gapOf = ({ data }: Frame): FollowEnd => ({
  kind: 'gap',
  latest: isRecord(data) ? stringOf(data['latest_available_event_id']) : undefined,
});
