import {
  ConflictError,
  type InterruptRecord,
  LEAD_AGENT,
  NotFoundError,
  RunCreate,
  type ThreadInterrupts,
  UnavailableError,
  uuidOf,
} from '@caribou/contracts';
import { type Logger, RepeatedTask, settlesWithin, systemClock, type ThreadKey } from '@caribou/core';
import type { AdmitRequest, ThreadStore, WaitingThreads } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { decidedOf, decisionLine } from '../runs/decision-lines.js';
import { parseAssistantId } from '../assistants/assistant-catalog.js';
import { admitRequest, continueWith } from '../runs/requests/run-request.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

const PAGE = 100;
/** Pages of one sweep. */
const MAX_PAGES = 20;
/** Time that a stopping gateway waits for the current sweep. */
const STOP_MS = 5_000;

/**
 * Answers interrupts whose deadline has passed. Deadlines are entries of a sorted set in the store and cost no process anything;
 * any gateway finds those that are due by the clock of the store. The admission of the continuing run answers each once, whichever
 * gateways do it at the same time, and never together with a person's decision.
 */
@Injectable()
export class InterruptDeadlines {
  private readonly sweeps: RepeatedTask;

  constructor(
    @Dependency('waitingThreads') private readonly waiting: Pick<WaitingThreads, 'listDue' | 'refresh'>,
    @Dependency('threadStore') private readonly store: Pick<ThreadStore, 'getThread' | 'admit'>,
    @Dependency('dispatchTurn') private readonly dispatchTurn: (thread: ThreadKey) => Promise<void>,
    @Dependency('settings') private readonly settings: GatewaySettings,
    @Dependency('logger') private readonly logger: Logger,
  ) {
    this.sweeps = new RepeatedTask({
      clock: systemClock,
      everyMs: settings.sweepMs,
      work: async (signal) => void (await this.sweep(signal)),
      onFailure: (error) => this.logFailure(error),
    });
  }

  /** Begins the first sweep now, and repeats it every `clocks.sweep_ms` until `stop`. */
  start(): void {
    this.sweeps.start();
  }

  async stop(): Promise<void> {
    await settlesWithin(this.sweeps.stop(), STOP_MS, systemClock);
  }

  /** Does one sweep and returns how many runs it started. Threads that are busy are left to the next one. */
  async sweep(signal?: AbortSignal): Promise<number> {
    let [skip, started] = [0, 0];
    for (let page = 0; page < MAX_PAGES && signal?.aborted !== true; page += 1) {
      const { nowMs, threads } = await this.waiting.listDue({ skip, limit: PAGE });
      for (const thread of threads) {
        const outcome = await this.answer(thread, nowMs).catch((error: unknown) => this.logFailure(error));
        if (outcome === 'started') started += 1;
        // The entry stays until the run has begun to answer, or has ended.
        if (outcome !== 'removed') skip += 1;
      }
      if (threads.length < PAGE) break;
    }
    return started;
  }

  private async answer(thread: ThreadKey, nowMs: number): Promise<'started' | 'removed' | 'left'> {
    const { waiting, store, dispatchTurn, logger } = this;
    const interrupts = await this.interruptsOf(thread);
    const due = interrupts.open.filter(({ expires_ms: expiresMs }) => expiresMs !== undefined && expiresMs <= nowMs);
    if (due.length === 0) {
      await waiting.refresh(thread);
      return 'removed';
    }
    try {
      const { run, repeated } = await store.admit(this.requestFor(thread, due, interrupts));
      if (repeated) return 'left';
      logger.info(
        { event: 'interrupt.expire', threadId: thread.threadId, runId: run.run_id, count: due.length },
        'the deadline of interrupts has passed',
      );
      void dispatchTurn(thread);
      return 'started';
    } catch (error) {
      // A run of the thread is in flight, or somebody has answered meanwhile.
      if (error instanceof ConflictError) return 'left';
      throw error;
    }
  }

  private async interruptsOf(thread: ThreadKey): Promise<ThreadInterrupts> {
    try {
      return (await this.store.getThread(thread)).values.interrupts ?? { open: [], answered: [] };
    } catch (error) {
      if (error instanceof NotFoundError) return { open: [], answered: [] };
      throw error;
    }
  }

  /** The id of the run is derived from what it answers, so that no two gateways start one each. */
  private requestFor(
    thread: ThreadKey,
    due: readonly InterruptRecord[],
    { continues }: ThreadInterrupts,
  ): AdmitRequest {
    const { settings } = this;
    const { command: _none, input: _input, ...given } = RunCreate.parse({ assistant_id: LEAD_AGENT });
    const body = { ...given, input: null };
    const continued = continues === undefined ? body : continueWith(body, continues, settings);
    const answers = Object.fromEntries(due.map(({ id, on_expiry: answer }) => [id, answer ?? null]));
    const target = { ...thread, temporary: false, ifNotExists: 'reject' } as const;
    const assistant = parseAssistantId(LEAD_AGENT);
    const request = admitRequest({ ...continued, command: { answers } }, target, { limits: settings, assistant });
    const ids = due.map(({ id }) => id).sort();
    const runId = uuidOf(JSON.stringify(['deadline', thread.userId, thread.threadId, ids]));
    const decided = due.map((interrupt) => decidedOf(interrupt, answers[interrupt.id]));
    return { ...request, runId, decisions: decided.map((one) => decisionLine(one, { thread, runId })) };
  }

  /** One thread does not hold up the others; the next sweep repeats what has failed. */
  private logFailure(error: unknown): void {
    const level = error instanceof UnavailableError ? 'warn' : 'error';
    this.logger[level]({ event: 'interrupt.expire', outcome: 'error', error }, 'a deadline was not carried out');
  }
}
