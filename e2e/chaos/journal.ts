import { createHash } from 'node:crypto';
import type { Frame } from '../support/client.js';
import type { Effect, FileRead, FileTurn, FrameMark, History, RunHistory, Segment } from './history.js';

/** An effect that a script requests, and the text by which a result reports it. */
export type WantedEffect = Pick<Effect, 'where' | 'word'>;

/** A run that is being followed; becomes a `RunHistory` when everything is at rest. */
export interface FollowedRun extends Pick<RunHistory, 'threadId' | 'runId' | 'kind' | 'script' | 'acceptedAtMs'> {
  may: readonly string[];
  readonly wanted: readonly WantedEffect[];
  readonly segments: Segment[];
  stuck: boolean;
  over: boolean;
  attempts: number;
  readonly errors: string[];
}

export const markOf = ({ id, event, data }: Frame): FrameMark => ({
  id,
  event,
  digest: createHash('sha256')
    .update(JSON.stringify(data) ?? '')
    .digest('base64')
    .slice(0, 12),
});

/** The turns of a thread that work with files, and what was read of it meanwhile. */
export interface FollowedFiles {
  readonly turns: (Omit<FileTurn, 'runId'> & { runId: string | undefined })[];
  readonly reads: FileRead[];
}

const MAX_INCIDENTS = 200;

/** Records the events of a run of chaos as they happen. */
export class Journal {
  readonly runs: FollowedRun[] = [];
  readonly incidents: History['incidents'][number][] = [];
  /** Messages of requests that ended with 409. An earlier attempt of such a request may have been executed later. */
  readonly declined: string[] = [];
  readonly remembered: { readonly threadId: string; readonly word: string }[] = [];
  /** By thread. */
  readonly files = new Map<string, FollowedFiles>();
  /** The longest time in which nothing was accepted and no frame came, in ms. */
  longestGapMs = 0;
  private lastProgressMs = performance.now();

  accepted(
    run: Omit<FollowedRun, 'segments' | 'stuck' | 'over' | 'attempts' | 'errors' | 'acceptedAtMs'>,
  ): FollowedRun {
    const followed: FollowedRun = {
      ...run,
      segments: [],
      stuck: false,
      over: false,
      attempts: 1,
      errors: [],
      acceptedAtMs: performance.now(),
    };
    this.runs.push(followed);
    this.progress();
    return followed;
  }

  filesOf(threadId: string): FollowedFiles {
    const known = this.files.get(threadId) ?? { turns: [], reads: [] };
    this.files.set(threadId, known);
    return known;
  }

  progress(): void {
    const nowMs = performance.now();
    this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.lastProgressMs);
    this.lastProgressMs = nowMs;
  }

  incident(what: string, where: { readonly threadId?: string; readonly runId?: string } = {}): void {
    if (this.incidents.length < MAX_INCIDENTS) this.incidents.push({ what, ...where });
  }

  /** A run that the server refused though the client has seen all earlier runs of the thread end. */
  refused(kind: string, threadId: string, answer: string): void {
    const earlier = this.runs.filter((run) => run.threadId === threadId).slice(-2);
    const ends = earlier.map(({ runId, kind: of, segments }) => {
      const frames = segments.slice(-3).map(({ after, frames: read }) => ({
        after,
        read: read.slice(-4).map(({ id, event }) => `${id ?? ''} ${event}`),
      }));
      return { runId, of, segments: segments.length, frames };
    });
    this.incident(`${kind} was refused on a thread at rest: ${answer}, after ${JSON.stringify(ends)}`, { threadId });
  }

  get terminal(): number {
    return this.runs.filter(({ over }) => over).length;
  }

  get takeovers(): number {
    return this.runs.reduce((sum, { attempts }) => sum + attempts - 1, 0);
  }
}
