import { FencedError, UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, MemoryJob, MemoryJobs, MemoryStore, StoredMemory } from '@caribou/core';
import { applyExtraction, ConversationReader, type Extraction, extractionCall, type Reading } from '@caribou/memory';
import type { Metrics } from '@caribou/observability';
import { type LeaseClocks, LeaseKeeper } from '@caribou/runs';
import type { ModelReader } from './model-reader.js';
import { judge, reasonOf, type RetryLimits } from './reading-failure.js';

export interface ReadingPorts {
  readonly jobs: MemoryJobs;
  readonly memories: Pick<MemoryStore, 'read'>;
  readonly model: Pick<ModelReader, 'read'>;
  /** Keeps a note for the operator. */
  readonly deadLetter: (id: string, entry: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clocks: LeaseClocks;
  readonly metrics: Pick<Metrics, 'memoryRead' | 'fenced'>;
}

export interface ReadingOptions extends RetryLimits {
  readonly maxFacts: number;
  readonly confidenceThreshold: number;
}

/** How the reading of a thread ended. `retry`: it will be read again; `lost`: by somebody else, or when the store is back. */
export type ReadingOutcome = 'learnt' | 'nothing' | 'retry' | 'dead' | 'lost';

/** Other threads of the same memory may be written between a look and a write; each lost race means that one was. */
const MAX_CONFLICTS = 50;
/** A memory that was cleared or imported since the model looked is shown to it again. */
const MAX_CALLS = 3;

/**
 * Reads what was said in one thread into a memory.
 *
 * M1 Memory, history, watermark and the end of the job are written by one fenced script: a death before it changes
 *    nothing, one behind it leaves nothing to do.
 * M2 A memory that others changed meanwhile is read again, and the same answer is applied to it.
 * M3 An answer that was made of a memory of another era is thrown away.
 * M4 A reading that fails is tried again later; one that fails by itself too often is set aside, with a dead letter, so
 *    that it holds nothing up.
 */
export class ThreadReading {
  constructor(
    private readonly ports: ReadingPorts,
    private readonly options: ReadingOptions,
  ) {}

  /**
   * Reads under the job's lease until it ends; `stop` gives it back. Never rejects for a failure of the reading.
   *
   * @param takenMs when the request that took the lease was sent, by the monotonic clock; default now
   */
  async read(
    job: MemoryJob,
    stop: AbortSignal,
    takenMs: number = this.ports.clock.monotonicMs(),
  ): Promise<ReadingOutcome> {
    const { jobs, clock, clocks, metrics, logger: root } = this.ports;
    const { userId, threadId, epoch } = job.lease;
    const logger = root.child({ userId, threadId, epoch });
    const startedMs = clock.monotonicMs();
    const renew = async () => {
      await jobs.renew(job.lease);
      return { cancel: null };
    };
    const keeper = new LeaseKeeper({ renew, takenMs, clocks, clock, logger });
    try {
      const outcome = await this.held(job, { keeper, stop, logger });
      const durationMs = Math.round(clock.monotonicMs() - startedMs);
      metrics.memoryRead(outcome, durationMs);
      logger.info({ event: 'memory.read', outcome, durationMs }, `thread read for memory: ${outcome}`);
      return outcome;
    } catch (error) {
      if (!(error instanceof FencedError || error instanceof UnavailableError || keeper.lost)) throw error;
      if (error instanceof FencedError) metrics.fenced();
      metrics.memoryRead('lost', clock.monotonicMs() - startedMs);
      logger.warn({ event: 'memory.read', outcome: 'lost', error }, 'reading a thread for memory was lost');
      return 'lost';
    } finally {
      keeper.stop();
    }
  }

  private async held(job: MemoryJob, held: Held): Promise<ReadingOutcome> {
    let reading: Reading = { lines: [], watermark: job.lastEntry, seen: job.seen, more: false };
    try {
      reading = await this.conversationOf(job, held.keeper.signal);
      if (reading.lines.length > 0)
        return await this.learn(job, reading, AbortSignal.any([held.keeper.signal, held.stop]));
      await this.ports.jobs.complete(job, reading);
      return 'nothing';
    } catch (error) {
      held.keeper.signal.throwIfAborted();
      if (error instanceof FencedError || isStoreAway(error)) throw error;
      if (!held.stop.aborted) return this.failed({ job, reading, error, logger: held.logger });
      await this.ports.jobs.retry(job, { delayMs: 0, failed: 'no' });
      return 'retry';
    }
  }

  private async conversationOf(
    { lease, watermark, lastEntry, seen }: MemoryJob,
    signal: AbortSignal,
  ): Promise<Reading> {
    const reader = new ConversationReader(watermark, seen);
    for (let after = watermark; after < lastEntry && !reader.full; ) {
      signal.throwIfAborted();
      const { messages, last } = await this.ports.jobs.messages(lease, { after, to: lastEntry });
      reader.add(messages, last);
      after = last;
    }
    return reader.finish();
  }

  private async learn(job: MemoryJob, reading: Reading, signal: AbortSignal): Promise<ReadingOutcome> {
    const { memories, model, jobs } = this.ports;
    for (let call = 0; call < MAX_CALLS; call += 1) {
      const shown = await memories.read(job.lease);
      const extraction = await model.read(extractionCall(shown.document, reading.lines), signal);
      signal.throwIfAborted();
      const outcome = await this.write(job, { reading, extraction, shown });
      if (outcome !== undefined) return outcome;
    }
    await jobs.retry(job, { delayMs: this.options.baseDelayMs, failed: 'no' });
    return 'retry';
  }

  /** Writes what follows from an answer; undefined when it says nothing about the memory any more (M3). */
  private async write(job: MemoryJob, learnt: Learnt): Promise<ReadingOutcome | undefined> {
    const { memories, jobs } = this.ports;
    const { threadId } = job.lease;
    let current = learnt.shown;
    for (let conflict = 0; conflict < MAX_CONFLICTS; conflict += 1) {
      if (learnt.shown.era !== 0 && current.era !== learnt.shown.era) return undefined;
      const document = this.after(current, learnt, threadId);
      const update = {
        document,
        before: current.document,
        expectedRevision: current.revision,
        cause: { kind: 'extraction', threadId } as const,
      };
      if (document === current.document) {
        await jobs.complete(job, learnt.reading);
        return 'nothing';
      }
      if (await jobs.complete(job, learnt.reading, update)) return 'learnt';
      current = await memories.read(job.lease);
    }
    await jobs.retry(job, { delayMs: this.options.baseDelayMs, failed: 'no' });
    return 'retry';
  }

  private after({ document }: StoredMemory, { reading, extraction, shown }: Learnt, threadId: string) {
    return applyExtraction(document, extraction, {
      threadId,
      now: new Date(this.ports.clock.now()).toISOString(),
      maxFacts: this.options.maxFacts,
      confidenceThreshold: this.options.confidenceThreshold,
      shown: shown.document,
      isPersons: (line) => reading.lines[line - 1]?.who === 'person',
    });
  }

  /** M4 */
  private async failed({ job, reading, error, logger }: Failed): Promise<ReadingOutcome> {
    const { jobs } = this.ports;
    const attempt = job.attempts + 1;
    const verdict = judge(error, job, this.options);
    if (verdict.kind === 'retry') {
      const { delayMs, failed } = verdict;
      logger.warn({ event: 'memory.retry', attempt, delayMs, reason: reasonOf(error), error }, 'reading failed');
      await jobs.retry(job, { delayMs, failed });
      return 'retry';
    }
    logger.error({ event: 'memory.dead', attempt, reason: verdict.reason, error }, 'reading given up');
    await this.noteDeath(job, reading, verdict.reason, logger);
    await jobs.deadLetter(job, reading, verdict.reason);
    return 'dead';
  }

  /** The store names what was given up all the same, so a letter that cannot be written holds nothing up. */
  private async noteDeath({ lease, watermark, attempts }: MemoryJob, reading: Reading, reason: string, logger: Logger) {
    const { userId, threadId, agent, epoch } = lease;
    try {
      await this.ports.deadLetter(`${threadId}-${epoch}`, {
        user_id: userId,
        thread_id: threadId,
        agent,
        after_entry: watermark,
        to_entry: reading.watermark,
        attempts: attempts + 1,
        reason,
      });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      logger.warn({ event: 'memory.dead', outcome: 'error', error }, 'dead letter not written');
    }
  }
}

interface Held {
  readonly keeper: LeaseKeeper;
  readonly stop: AbortSignal;
  readonly logger: Logger;
}

interface Learnt {
  readonly reading: Reading;
  readonly extraction: Extraction;
  /** The memory that the model was shown. */
  readonly shown: StoredMemory;
}

interface Failed {
  readonly job: MemoryJob;
  readonly reading: Reading;
  readonly error: unknown;
  readonly logger: Logger;
}

const isStoreAway = (error: unknown): boolean =>
  error instanceof UnavailableError && error.details['dependency'] === 'redis';
