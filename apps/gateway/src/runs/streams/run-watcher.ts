import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { AppError, type RunRecord, type RunSummary, type StreamMode } from '@caribou/contracts';
import type { Logger, RunEventLog, ThreadStore } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import type { FastifyReply } from 'fastify';
import {
  BUS,
  EVENT_LOG,
  type GatewayBus,
  type GatewaySettings,
  LOGGER,
  METRICS,
  SETTINGS,
  THREAD_STORE,
} from '../../ports.js';
import { parsePosition } from './projections/position.js';
import { slicedJson } from '../../http/sliced-json.js';
import { RunsService } from '../runs.service.js';
import { ResponseGone, ResponseWriter } from './response-writer.js';
import { finalValues, runOutcome, type RunOutcome } from './run-outcome.js';
import { streamRun } from './run-stream.js';
import { StreamRegistry } from './stream-registry.js';
import { ValuesCache } from './values-cache.js';

/** A write that the reader does not take in this long cuts it off. */
const STALL_MS = 30_000;
/** How often a waiting answer shows that it lives. */
const NEWLINE_MS = 1_000;

export interface Watch {
  readonly run: RunRecord;
  readonly reply: FastifyReply;
  /** Whether the run is cancelled when this client goes away. */
  readonly cancelOnDisconnect: boolean;
}

export interface StreamWatch extends Watch {
  readonly modes: readonly StreamMode[];
  readonly lastEventId: string | undefined;
}

/** The long answers: event streams, and those that wait for a run's end. */
@Injectable()
export class RunWatcher implements OnModuleDestroy {
  private readonly values: ValuesCache;
  private readonly registry: StreamRegistry;

  constructor(
    @Inject(THREAD_STORE) private readonly store: ThreadStore,
    @Inject(EVENT_LOG) private readonly log: RunEventLog,
    @Inject(BUS) private readonly bus: GatewayBus,
    @Inject(SETTINGS) private readonly settings: GatewaySettings,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(METRICS) private readonly metrics: Pick<Metrics, 'streamGap'>,
    private readonly runs: RunsService,
  ) {
    this.values = new ValuesCache(store);
    this.registry = new StreamRegistry(settings.maxStreamsPerUser);
  }

  /** The process stops: streams break off without an end, so that their clients go on elsewhere. */
  onModuleDestroy(): void {
    this.registry.cutAll();
  }

  /** Keeps one of the user's places while `work` runs; taken before a run is admitted. @throws {RateLimitedError} */
  async withPlace(userId: string, work: () => Promise<void>): Promise<void> {
    const release = this.registry.take(userId);
    try {
      await work();
    } finally {
      release();
    }
  }

  /** Streams a run's events to its end. */
  async stream(watch: StreamWatch): Promise<void> {
    const { run, modes, lastEventId } = watch;
    const checkMs = this.settings.heartbeatMs;
    const headers = {
      ...linksOf(run),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    };
    await this.answer(watch, { headers, beat: ': heartbeat\n\n', beatMs: checkMs }, (writer) =>
      streamRun(this.ports, { run, modes, from: parsePosition(lastEventId), checkMs }, writer),
    );
  }

  /** Answers the run's final values; headers at once, and a newline every second until then. */
  async wait(watch: Watch): Promise<void> {
    const { run } = watch;
    const headers = { ...linksOf(run), 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' };
    await this.answer(watch, { headers, beat: '\n', beatMs: NEWLINE_MS }, async (writer) => {
      const options = { run, checkMs: this.settings.heartbeatMs, signal: writer.signal };
      const outcome = await runOutcome(this.ports, options);
      writer.end(await slicedJson(await finalValues(this.ports, outcome, options)));
    });
  }

  /** How the run ended, or null when it had not within `timeoutMs`. */
  async untilOver(run: RunSummary, timeoutMs: number): Promise<RunOutcome | null> {
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

  /** Takes the response over and feeds it; what goes wrong from here on breaks the connection. */
  private async answer(
    watch: Watch,
    options: { readonly headers: Readonly<Record<string, string>>; readonly beat: string; readonly beatMs: number },
    feed: (writer: ResponseWriter) => Promise<void>,
  ): Promise<void> {
    const { reply } = watch;
    reply.hijack();
    const headers = { ...headersOf(reply), ...options.headers };
    if (reply.request.method === 'HEAD') {
      reply.raw.writeHead(200, headers).end();
      return;
    }
    const writer = new ResponseWriter(reply.raw, { ...options, headers, stallMs: STALL_MS });
    this.registry.add(writer);
    try {
      await feed(writer);
    } catch (error) {
      if (error instanceof ResponseGone) await this.left(watch, error);
      else this.broke(watch, error, writer);
    } finally {
      this.registry.remove(writer);
      writer.end();
    }
  }

  private async left({ run, cancelOnDisconnect }: Watch, gone: ResponseGone): Promise<void> {
    this.logger.debug({ event: 'stream.left', runId: run.run_id, reason: gone.reason }, 'the client is gone');
    if (!cancelOnDisconnect || gone.reason === 'shutdown') return;
    try {
      await this.runs.cancel({ userId: run.user_id, threadId: run.thread_id }, run.run_id, 'interrupt');
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.logger.warn({ event: 'stream.left', runId: run.run_id, error }, 'the run could not be cancelled');
    }
  }

  private broke({ run }: Watch, error: unknown, writer: ResponseWriter): void {
    this.logger.error({ event: 'stream.broke', runId: run.run_id, threadId: run.thread_id, error }, 'the stream broke');
    writer.cut('shutdown');
  }
}

/** Where the run is (nothing may follow its id), and where a broken stream goes on (without a public prefix). */
export function linksOf({ thread_id, run_id }: RunRecord): Readonly<Record<string, string>> {
  const path = `/threads/${thread_id}/runs/${run_id}`;
  return { 'content-location': path, location: `${path}/stream` };
}

/** What hooks have set already, CORS above all. */
function headersOf(reply: FastifyReply): Record<string, string> {
  return Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]));
}
