import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { AppError, omitUndefined, type RunRecord, type RunSummary, type StreamMode } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { RunEventLog, ThreadStore } from '@caribou/state';
import type { Metrics } from '@caribou/observability';
import type { FastifyReply } from 'fastify';
import { Dependency, type GatewayBus } from '../../dependency.js';
import type { GatewaySettings } from '../../settings.js';
import { parsePosition, START } from './projections/position.js';
import { addQuota } from '../../http/rate-limit-headers.js';
import { endRefusals } from '../../http/retry-estimates.js';
import { stringifyInSlices } from '../../http/sliced-json.js';
import { type AdmittedRun, RunsService } from '../runs.service.js';
import { readFinalValues, runOutcome, type RunOutcome } from './run-outcome.js';
import { streamRun } from './run-stream.js';
import { ResponseGone, SseWriter, type WriterOptions } from './sse-writer.js';
import { SlowReaders } from './slow-readers.js';
import { StreamRegistry } from './stream-registry.js';
import { ValuesCache } from './values-cache.js';

/** Time after which a connection is closed whose reader does not accept a write. */
const STALL_MS = 30_000;
/** Interval of the newlines that a waiting answer sends. */
const NEWLINE_MS = 1_000;

export interface StreamClient {
  readonly userId: string;
  readonly reply: FastifyReply;
}

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

/** How a long response is written. */
interface Answer extends WaitOptions, Omit<WriterOptions, 'stallMs' | 'slowReaders'> {
  write(run: AdmittedRun, writer: SseWriter): Promise<void>;
}

/** Writes long responses: event streams, and answers that wait for the end of a run. */
@Injectable()
export class RunStreams implements OnModuleDestroy {
  private readonly values: ValuesCache;
  private readonly registry: StreamRegistry;
  private readonly slowReaders: SlowReaders;

  constructor(
    @Dependency('threadStore') private readonly store: ThreadStore,
    @Dependency('eventLog') private readonly log: RunEventLog,
    @Dependency('bus') private readonly bus: GatewayBus,
    @Dependency('settings') private readonly settings: GatewaySettings,
    @Dependency('logger') private readonly logger: Logger,
    @Dependency('metrics') private readonly metrics: Pick<Metrics, 'streamGap' | 'measure' | 'measureCache'>,
    private readonly runs: RunsService,
  ) {
    this.values = new ValuesCache(store);
    this.registry = new StreamRegistry(settings.maxStreamsPerUser);
    this.slowReaders = new SlowReaders(settings.maxSlowReaderBytes);
    metrics.measureCache('values', this.values.bytes);
    metrics.measure('open_streams', () => this.registry.size);
    metrics.measure('slow_reader_bytes', () => this.slowReaders.heldBytes);
  }

  /** Breaks off all streams without an `end` when the process stops, so that clients reconnect to another gateway. */
  onModuleDestroy(): void {
    this.registry.cutAll();
  }

  /**
   * Starts or finds a run and streams its events to its end.
   *
   * @throws {RateLimitedError} when the user has too many long answers open; no run is started then
   */
  async stream(client: StreamClient, find: () => Promise<AdmittedRun>, options: StreamOptions = {}): Promise<void> {
    const { modes = [], lastEventId, isNew = false, ...wait } = options;
    const checkMs = this.settings.heartbeatMs;
    await this.answer(client, find, {
      ...wait,
      headers: {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      },
      beat: ': heartbeat\n\n',
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

  private get ports() {
    const { store, log, bus, values, metrics } = this;
    return { store, log, bus, values, onGap: () => metrics.streamGap() };
  }

  /**
   * Counts the response, finds the run, and writes the answer; an error during the writing breaks off the connection.
   */
  private async answer(
    { userId, reply }: StreamClient,
    find: () => Promise<AdmittedRun>,
    answer: Answer,
  ): Promise<void> {
    const release = this.registry.take(userId);
    addQuota(reply, this.registry.useOf(userId));
    try {
      const run = await find();
      const headers = { ...headersOf(reply), ...linksOf(run), ...answer.headers };
      endRefusals(reply.request);
      reply.hijack();
      if (reply.request.method === 'HEAD') reply.raw.writeHead(200, headers).end();
      else {
        const options = { ...answer, headers, stallMs: STALL_MS, slowReaders: this.slowReaders };
        await this.write(run, answer, new SseWriter(reply.raw, options));
      }
    } finally {
      release();
    }
  }

  private async write(run: AdmittedRun, answer: Answer, writer: SseWriter): Promise<void> {
    this.registry.add(writer);
    try {
      await answer.write(run, writer);
    } catch (error) {
      const { run_id: runId, thread_id: threadId } = run;
      if (error instanceof ResponseGone) {
        const left = { event: 'stream.left', runId, reason: error.reason };
        if (error.reason === 'slow')
          this.logger.warn(left, 'a slow reader was cut off: too much waits for slow readers');
        else this.logger.debug(left, 'the client is gone');
        const cancels = answer.cancelOnDisconnect ?? run.kwargs.on_disconnect === 'cancel';
        if (cancels && causedByClient(error)) await this.cancel(run);
      } else {
        this.logger.error({ event: 'stream.broke', runId, threadId, error }, 'the stream broke');
        writer.cut('shutdown');
      }
    } finally {
      this.registry.remove(writer);
    }
  }

  private async cancel({ user_id: userId, thread_id: threadId, run_id: runId }: RunRecord): Promise<void> {
    try {
      await this.runs.cancel({ userId, threadId }, runId, 'interrupt');
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.logger.warn({ event: 'stream.left', runId, error }, 'the run could not be cancelled');
    }
  }
}

/** Whether the client has left, and the gateway has not cut it off. */
const causedByClient = ({ reason }: ResponseGone): boolean => reason === 'client' || reason === 'stalled';

/** Headers with the paths of the run, and of its stream for clients that reconnect; without the prefix of the API. */
export function linksOf({ thread_id, run_id }: RunRecord): Readonly<Record<string, string>> {
  const path = `/threads/${thread_id}/runs/${run_id}`;
  return { 'content-location': path, location: `${path}/stream` };
}

/** Headers that hooks have already set, mainly those of CORS. */
function headersOf(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]));
}
