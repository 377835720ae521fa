import { Injectable } from '@nestjs/common';
import { omitUndefined, type RunRecord, type RunSummary, type StreamMode } from '@caribou/contracts';
import type { RunEventLog, ThreadStore } from '@caribou/state';
import { Dependency, type GatewayBus } from '../../dependency.js';
import type { GatewaySettings } from '../../settings.js';
import { parsePosition, START } from './projections/position.js';
import { stringifyInSlices } from '../../http/sliced-json.js';
import { RunsService } from '../runs.service.js';
import type { AdmittedRun } from '../started-run.js';
import { type FinalPorts, readFinalValues, runOutcome, type RunOutcome } from './run-outcome.js';
import { EVENT_STREAM, type LongAnswer, LongAnswers, type StreamClient } from './long-answers.js';
import { OpenStreams } from './open-streams.js';
import { type RunStreamPorts, streamRun } from './run-stream.js';
import type { SseWriter } from './sse-writer.js';

/** Interval of the newlines that a waiting answer sends. */
const NEWLINE_MS = 1_000;

export interface WaitOptions {
  /** Whether the run is cancelled when the client disconnects; by default as requested at the start of the run. */
  readonly cancelOnDisconnect?: boolean;
}

export interface StreamOptions extends WaitOptions {
  /** Stream modes; when there are none, those that the run was started with. */
  readonly modes?: readonly StreamMode[];
  readonly lastEventId?: string | undefined;
  /** Whether the run is started by this request. */
  readonly isNew?: boolean;
}

/** How the response of a run is written. */
interface Answer extends WaitOptions, Pick<LongAnswer, 'headers' | 'beat' | 'beatMs'> {
  write(run: AdmittedRun, writer: SseWriter): Promise<void>;
}

/** Writes long responses of runs: event streams, and answers that wait for the end of a run. */
@Injectable()
export class RunStreams {
  constructor(
    @Dependency('threadStore') private readonly store: ThreadStore,
    @Dependency('eventLog') private readonly log: RunEventLog,
    @Dependency('bus') private readonly bus: GatewayBus,
    @Dependency('settings') private readonly settings: GatewaySettings,
    private readonly runs: RunsService,
    private readonly answers: LongAnswers,
    private readonly open: OpenStreams,
  ) {}

  /**
   * Starts or finds a run and streams its events to its end.
   *
   * @throws {RateLimitedError} when the user has too many long answers open; no run is started then
   */
  async stream(client: StreamClient, find: () => Promise<AdmittedRun>, options: StreamOptions = {}): Promise<void> {
    const { modes = [], lastEventId, isNew = false, cancelOnDisconnect } = options;
    const checkMs = this.settings.heartbeatMs;
    await this.answer(client, find, {
      ...EVENT_STREAM,
      ...omitUndefined({ cancelOnDisconnect }),
      beatMs: checkMs,
      write: (run, writer) => {
        const shown = modes.length > 0 ? modes : run.kwargs.stream_mode;
        const from = parsePosition(lastEventId);
        const joinedAfter = from === START ? run.joinedAfter : undefined;
        return streamRun(
          this.ports,
          { run, modes: shown, from, checkMs, isNew, ...omitUndefined({ joinedAfter }) },
          writer,
        );
      },
    });
  }

  /** Starts or finds a run and answers with its final values. Headers are sent at once, and a newline every second. */
  async wait(client: StreamClient, find: () => Promise<RunRecord>, options: WaitOptions = {}): Promise<void> {
    await this.answer(client, find, {
      ...options,
      headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
      beat: '\n',
      beatMs: NEWLINE_MS,
      write: async (run, writer) => {
        const follow = { run, checkMs: this.settings.heartbeatMs, signal: writer.signal };
        const outcome = await runOutcome(this.ports, follow);
        await writer.end(await stringifyInSlices(await readFinalValues(this.ports, outcome, follow)));
      },
    });
  }

  /** Waits for the end of the run; returns null when it did not end within `timeoutMs`. */
  async waitForEnd(run: RunSummary, timeoutMs: number): Promise<RunOutcome | null> {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      return await runOutcome(this.ports, { run, checkMs: Math.min(this.settings.heartbeatMs, 1_000), signal });
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }

  /** What a stream of a run reads. */
  get ports(): RunStreamPorts & FinalPorts {
    const { store, log, bus, open } = this;
    return { store, log, bus, values: open.values, onGap: () => open.countGap() };
  }

  /** Finds the run and writes the answer; a client that leaves cancels the run where that was requested. */
  private async answer(client: StreamClient, find: () => Promise<AdmittedRun>, answer: Answer): Promise<void> {
    await this.answers.respond(client, async () => {
      const run = await find();
      return {
        ...answer,
        headers: { ...linksOf(run), ...answer.headers },
        about: { runId: run.run_id, threadId: run.thread_id },
        write: (writer) => answer.write(run, writer),
        onLeft: async () => {
          const { user_id: userId, thread_id: threadId, run_id: runId } = run;
          if (answer.cancelOnDisconnect ?? run.kwargs.on_disconnect === 'cancel')
            await this.runs.cancel({ userId, threadId }, runId, 'interrupt', { by: 'disconnect' });
        },
      };
    });
  }
}

/** Headers with the paths of the run, and of its stream for clients that reconnect; without the prefix of the API. */
export function linksOf({ thread_id, run_id }: RunRecord): Readonly<Record<string, string>> {
  const path = `/threads/${thread_id}/runs/${run_id}`;
  return { 'content-location': path, location: `${path}/stream` };
}
