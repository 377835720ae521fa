import { Injectable } from '@nestjs/common';
import type { ThreadStreamMode } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';
import { Dependency } from '../../dependency.js';
import type { GatewaySettings } from '../../settings.js';
import { EVENT_STREAM, LongAnswers, type StreamClient } from './long-answers.js';
import { RunStreams } from './run-streams.js';
import { ThreadStream } from './thread-stream.js';
import { parseThreadPosition } from './thread-position.js';

export interface ThreadStreamOptions {
  /** What is shown; none: `run_modes`. */
  readonly modes: readonly ThreadStreamMode[];
  readonly lastEventId: string | undefined;
}

/** Streams of threads: the events of their runs, one after the other, as they start. */
@Injectable()
export class ThreadStreams {
  constructor(
    @Dependency('threadStore') private readonly store: ThreadStore,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'heartbeatMs'>,
    private readonly runs: RunStreams,
    private readonly answers: LongAnswers,
  ) {}

  /**
   * Streams until the client leaves, the thread is deleted or the process stops.
   *
   * @throws {NotFoundError} for an unknown thread
   * @throws {RateLimitedError} when the user has too many long answers open
   */
  async stream(client: StreamClient, thread: ThreadKey, { modes, lastEventId }: ThreadStreamOptions): Promise<void> {
    const shown = new Set<ThreadStreamMode>(modes.length === 0 ? ['run_modes'] : modes);
    const checkMs = this.settings.heartbeatMs;
    await this.answers.respond(client, async () => {
      const from = parseThreadPosition(lastEventId) ?? (await this.newest(thread));
      await this.store.getThread(thread);
      return {
        ...EVENT_STREAM,
        headers: { ...EVENT_STREAM.headers, ...linksOf(thread, shown) },
        beatMs: checkMs,
        about: { threadId: thread.threadId },
        write: (writer) =>
          new ThreadStream({ ...this.runs.ports, store: this.store }, { thread, shown, from, checkMs }, writer).run(),
      };
    });
  }

  /** Where a stream without an id begins: with the runs in flight, and the states after the current one. */
  private async newest(thread: ThreadKey) {
    const admittedUs = await this.store.followFrom(thread);
    const { head } = await this.store.getThread(thread);
    return { admittedUs, runId: '', inRun: '', head: head ?? '' };
  }
}

function linksOf({ threadId }: ThreadKey, modes: ReadonlySet<ThreadStreamMode>): Record<string, string> {
  const query = new URLSearchParams([...modes].map((mode) => ['stream_mode', mode]));
  const path = `/threads/${threadId}`;
  return { 'content-location': path, location: `${path}/stream?${query.toString()}` };
}
