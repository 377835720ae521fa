import { FencedError, UnavailableError } from '@caribou/contracts';
import type { Clock, Logger, MemoryJob, MemoryJobs, MemoryStore, StoredMemory } from '@caribou/core';
import {
  applyExtraction,
  ConversationReader,
  type Extraction,
  createExtractionCall,
  type Transcript,
} from '@caribou/memory';
import type { Metrics } from '@caribou/observability';
import { type LeaseClocks, LeaseKeeper } from '@caribou/runs';
import type { ExtractionModel } from './extraction-model.js';
import { decideRetry, reasonOf, type RetryLimits } from './extraction-failure.js';

export interface ExtractionPorts {
  readonly jobs: MemoryJobs;
  readonly memories: Pick<MemoryStore, 'read'>;
  readonly model: Pick<ExtractionModel, 'extract'>;
  /** Stores a dead letter for the operator. */
  readonly deadLetter: (id: string, entry: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clocks: LeaseClocks;
  readonly metrics: Pick<Metrics, 'memoryRead' | 'fenced'>;
}

export interface ExtractionOptions extends RetryLimits {
  readonly maxFacts: number;
  readonly confidenceThreshold: number;
}

/**
 * How an extraction ended. `retry`: it is queued again; `lost`: another worker has the job, or the store is
 * unavailable.
 */
export type ExtractionOutcome = 'learnt' | 'nothing' | 'retry' | 'dead' | 'lost';

/** Limit of attempts to write; each conflict means that an extraction of another thread has written the same memory. */
const MAX_CONFLICTS = 50;
/** Limit of model calls; a memory that was cleared or imported during a call requires another one. */
const MAX_CALLS = 3;

/**
 * Extracts facts from the conversation of one thread into a memory.
 *
 * M1 One fenced script writes memory, history, watermark and the end of the job: a crash before it changes nothing, and
 *    after it nothing remains to be done.
 * M2 A memory that others changed meanwhile is read again, and the same answer is applied to it.
 * M3 An answer that is based on a memory of another era is discarded.
 * M4 A failed extraction is retried later; one that fails repeatedly because of its conversation is dead-lettered, so
 *    that it does not block later messages.
 */
export class MemoryExtraction {
  constructor(
    private readonly ports: ExtractionPorts,
    private readonly options: ExtractionOptions,
  ) {}

  /**
   * Runs the extraction under the job's lease; `stop` returns the job to the queue. A failed extraction does not
   * reject.
   *
   * @param takenMs when the request that took the lease was sent, by the monotonic clock; default now
   */
  async run(
    job: MemoryJob,
    stop: AbortSignal,
    takenMs: number = this.ports.clock.monotonicMs(),
  ): Promise<ExtractionOutcome> {
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
      const outcome = await this.process(job, { keeper, stop, logger });
      const durationMs = Math.round(clock.monotonicMs() - startedMs);
      metrics.memoryRead(outcome, durationMs);
      logger.info({ event: 'memory.read', outcome, durationMs }, `memory extraction ended: ${outcome}`);
      return outcome;
    } catch (error) {
      if (!(error instanceof FencedError || error instanceof UnavailableError || keeper.lost)) throw error;
      if (error instanceof FencedError) metrics.fenced();
      metrics.memoryRead('lost', clock.monotonicMs() - startedMs);
      logger.warn({ event: 'memory.read', outcome: 'lost', error }, 'memory extraction lost its lease or the store');
      return 'lost';
    } finally {
      keeper.stop();
    }
  }

  private async process(job: MemoryJob, held: LeasedJob): Promise<ExtractionOutcome> {
    let transcript: Transcript = { lines: [], watermark: job.lastEntry, seen: job.seen, more: false };
    try {
      transcript = await this.readConversation(job, held.keeper.signal);
      if (transcript.lines.length > 0)
        return await this.extract(job, transcript, AbortSignal.any([held.keeper.signal, held.stop]));
      await this.ports.jobs.complete(job, transcript);
      return 'nothing';
    } catch (error) {
      held.keeper.signal.throwIfAborted();
      if (error instanceof FencedError || isStoreAway(error)) throw error;
      if (!held.stop.aborted) return this.handleFailure({ job, transcript, error, logger: held.logger });
      await this.ports.jobs.retry(job, { delayMs: 0, failed: 'no' });
      return 'retry';
    }
  }

  private async readConversation(
    { lease, watermark, lastEntry, seen }: MemoryJob,
    signal: AbortSignal,
  ): Promise<Transcript> {
    const reader = new ConversationReader(watermark, seen);
    for (let after = watermark; after < lastEntry && !reader.full; ) {
      signal.throwIfAborted();
      const { messages, last } = await this.ports.jobs.messages(lease, { after, to: lastEntry });
      reader.add(messages, last);
      after = last;
    }
    return reader.finish();
  }

  private async extract(job: MemoryJob, transcript: Transcript, signal: AbortSignal): Promise<ExtractionOutcome> {
    const { memories, model, jobs } = this.ports;
    for (let made = 0; made < MAX_CALLS; made += 1) {
      const shown = await memories.read(job.lease);
      const call = createExtractionCall(shown.document, transcript.lines);
      const { userId, threadId } = job.lease;
      const extraction = await model.extract(call, { thread: { userId, threadId }, signal });
      signal.throwIfAborted();
      const outcome = await this.write(job, { transcript, extraction, shown });
      if (outcome !== undefined) return outcome;
    }
    await jobs.retry(job, { delayMs: this.options.baseDelayMs, failed: 'no' });
    return 'retry';
  }

  /** Applies an answer and writes the memory; returns undefined when the answer must be discarded (M3). */
  private async write(job: MemoryJob, answered: AnsweredCall): Promise<ExtractionOutcome | undefined> {
    const { memories, jobs } = this.ports;
    const { threadId } = job.lease;
    let current = answered.shown;
    for (let conflict = 0; conflict < MAX_CONFLICTS; conflict += 1) {
      if (answered.shown.era !== 0 && current.era !== answered.shown.era) return undefined;
      const document = this.applyTo(current, answered, threadId);
      const update = {
        document,
        before: current.document,
        expectedRevision: current.revision,
        cause: { kind: 'extraction', threadId } as const,
      };
      if (document === current.document) {
        await jobs.complete(job, answered.transcript);
        return 'nothing';
      }
      if (await jobs.complete(job, answered.transcript, update)) return 'learnt';
      current = await memories.read(job.lease);
    }
    await jobs.retry(job, { delayMs: this.options.baseDelayMs, failed: 'no' });
    return 'retry';
  }

  private applyTo({ document }: StoredMemory, { transcript, extraction, shown }: AnsweredCall, threadId: string) {
    return applyExtraction(document, extraction, {
      threadId,
      now: new Date(this.ports.clock.now()).toISOString(),
      maxFacts: this.options.maxFacts,
      confidenceThreshold: this.options.confidenceThreshold,
      shown: shown.document,
      isUserLine: (line) => transcript.lines[line - 1]?.who === 'user',
    });
  }

  /** (M4) Retries the extraction later, or dead-letters it. */
  private async handleFailure({ job, transcript, error, logger }: Failure): Promise<ExtractionOutcome> {
    const { jobs } = this.ports;
    const attempt = job.attempts + 1;
    const decision = decideRetry(error, job, this.options);
    if (decision.kind === 'retry') {
      const { delayMs, failed } = decision;
      logger.warn(
        { event: 'memory.retry', attempt, delayMs, reason: reasonOf(error), error },
        'memory extraction failed and is retried',
      );
      await jobs.retry(job, { delayMs, failed });
      return 'retry';
    }
    logger.error(
      { event: 'memory.dead', attempt, reason: decision.reason, error },
      'memory extraction failed for good',
    );
    await this.writeDeadLetter(job, transcript, decision.reason, logger);
    await jobs.deadLetter(job, transcript, decision.reason);
    return 'dead';
  }

  /** The store also records the failure, so the job ends even when the dead letter cannot be written. */
  private async writeDeadLetter(
    { lease, watermark, attempts }: MemoryJob,
    transcript: Transcript,
    reason: string,
    logger: Logger,
  ) {
    const { userId, threadId, agent, epoch } = lease;
    try {
      await this.ports.deadLetter(`${threadId}-${epoch}`, {
        user_id: userId,
        thread_id: threadId,
        agent,
        after_entry: watermark,
        to_entry: transcript.watermark,
        attempts: attempts + 1,
        reason,
      });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      logger.warn({ event: 'memory.dead', outcome: 'error', error }, 'the dead letter of a memory job was not written');
    }
  }
}

interface LeasedJob {
  readonly keeper: LeaseKeeper;
  readonly stop: AbortSignal;
  readonly logger: Logger;
}

interface AnsweredCall {
  readonly transcript: Transcript;
  readonly extraction: Extraction;
  /** The memory in the prompt. */
  readonly shown: StoredMemory;
}

interface Failure {
  readonly job: MemoryJob;
  readonly transcript: Transcript;
  readonly error: unknown;
  readonly logger: Logger;
}

const isStoreAway = (error: unknown): boolean =>
  error instanceof UnavailableError && error.details['dependency'] === 'redis';
