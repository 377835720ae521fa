import { Injectable } from '@nestjs/common';
import {
  type CancelAction,
  ConfigurableThread,
  InvalidRequestError,
  isTerminal,
  newId,
  NotFoundError,
  type RouteInput,
  LEAD_AGENT,
  RunCreate,
  type RunRecord,
  type RunSummary,
  type runRoutes,
  omitUndefined,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { AdmitRequest, CronStart, ThreadStore } from '@caribou/state';
import { parse } from '../http/parse-input.js';
import { Dependency, type GatewayBus } from '../dependency.js';
import { idempotencyOf } from './idempotency.js';
import { publishEnds, RunAdmission } from './run-admission.js';
import type { RunTarget } from './requests/run-request.js';
import { resumeRequest } from './requests/resume-request.js';
import type { AdmittedRun, StartHeaders } from './started-run.js';
import { StoreDeadline } from './store/store-deadline.js';

/**
 * Deadline for all store calls of a request that starts a run, so that it is answered within 5 s when Redis is
 * unreachable.
 */
const STORE_MS = 4_500;

/** Starts, finds and stops runs, which `RunAdmission` admits. It has no state of its own: the store decides, then the runners are notified. */
@Injectable()
export class RunsService {
  constructor(
    @Dependency('threadStore') private readonly store: ThreadStore,
    @Dependency('bus') private readonly bus: GatewayBus,
    private readonly admission: RunAdmission,
  ) {}

  /**
   * Admits a run on a thread. A stored run is executed even when NATS is unreachable: its dispatch to a runner is
   * not awaited.
   *
   * With strategy `steer` the messages are given to the run in flight, if there is one, and the result is that run.
   *
   * @throws {NotFoundError} when the agent does not exist
   * @throws {ConflictError} when the thread is busy and the strategy is `reject`
   * @throws {RateLimitedError} over a quota
   */
  async start(key: ThreadKey, body: RunCreate, headers: StartHeaders): Promise<AdmittedRun> {
    refuseToDelete(body);
    refuseOtherThread(key, body);
    const target: RunTarget = { ...key, temporary: false, ifNotExists: 'reject' };
    const idempotency = idempotencyOf(headers.idempotencyKey, { threadId: key.threadId, body: headers.rawBody });
    const deadline = new StoreDeadline(STORE_MS);
    const answered = body.command && (await deadline.within(() => this.findAnswered(key, idempotency)));
    if (answered) return answered;
    return this.admission.admit(await this.admission.prepare(body, { target, headers, deadline }), {
      idempotency,
      headers,
      deadline,
    });
  }

  /**
   * Gives messages of the user to the run of the thread that is in flight, as strategy `steer` does, and returns that run.
   * Starts none.
   *
   * @throws {InvalidRequestError} naming what is wrong with the messages
   * @throws {ConflictError} when no run of the thread is in flight
   * @throws {QuotaError} when too many messages wait already
   */
  async inject(key: ThreadKey, messages: readonly unknown[], headers: StartHeaders): Promise<AdmittedRun> {
    const asked = { assistant_id: LEAD_AGENT, input: { messages }, multitask_strategy: 'steer' };
    const body = parse(RunCreate, asked, 'body');
    const target: RunTarget = { ...key, temporary: false, ifNotExists: 'reject' };
    const idempotency = idempotencyOf(headers.idempotencyKey, { threadId: key.threadId, body: headers.rawBody });
    const deadline = new StoreDeadline(STORE_MS);
    const request = await this.admission.prepare(body, { target, headers, deadline });
    return this.admission.admit({ ...request, joinOnly: true }, { idempotency, headers, deadline });
  }

  /** Admits a run on a new thread, or on the thread that its configurable names. */
  async startAlone(userId: string, body: RunCreate, headers: StartHeaders): Promise<AdmittedRun> {
    const idempotency = idempotencyOf(headers.idempotencyKey, { threadId: null, body: headers.rawBody });
    const deadline = new StoreDeadline(STORE_MS);
    const request = await this.admission.prepare(body, { target: targetOfStateless(userId, body), headers, deadline });
    return this.admission.admit(request, { idempotency, headers, deadline });
  }

  /**
   * Admits several runs. All are checked before the first is stored; when one is refused, the stored ones are
   * cancelled.
   */
  async startBatch(userId: string, bodies: readonly RunCreate[], headers: StartHeaders): Promise<readonly RunRecord[]> {
    const requests: AdmitRequest[] = [];
    for (const body of bodies) {
      const target = targetOfStateless(userId, body);
      requests.push(await this.admission.prepare(body, { target, headers, deadline: new StoreDeadline(STORE_MS) }));
    }
    const runs: RunRecord[] = [];
    try {
      for (const [part, request] of requests.entries()) {
        const idempotency = idempotencyOf(headers.idempotencyKey, { threadId: null, body: headers.rawBody, part });
        runs.push(await this.admission.admit(request, { idempotency, headers, deadline: new StoreDeadline(STORE_MS) }));
      }
    } catch (error) {
      const cancels = runs.map((run) => this.cancel({ userId, threadId: run.thread_id }, run.run_id, 'rollback'));
      await Promise.allSettled(cancels);
      throw error;
    }
    return runs;
  }

  /** Checks a request that is repeated at set times, without starting it. @throws as `start` */
  async check(target: RunTarget, body: RunCreate): Promise<void> {
    await this.admission.prepare(body, { target, headers: NOBODY, deadline: new StoreDeadline(STORE_MS) });
  }

  /**
   * Admits a run for a due time of a cron.
   *
   * @throws {FencedError} when this due time was decided before, and as `start`
   */
  async startForCron(
    target: RunTarget,
    body: RunCreate,
    { runId, apiKey, cron, ...more }: CronRequest,
  ): Promise<RunRecord> {
    const deadline = new StoreDeadline(STORE_MS);
    const prepared = await this.admission.prepare(body, { target, headers: NOBODY, deadline });
    const context = { ...prepared.kwargs.context, ...omitUndefined({ scheduled_task: more.stoppableTask }) };
    const request = { ...prepared, kwargs: { ...prepared.kwargs, context }, runId, cron };
    const headers = { traceparent: undefined, apiKey, onAdmitted: () => undefined };
    return this.admission.admit(request, { idempotency: undefined, headers, deadline });
  }

  /**
   * The run that an earlier request with the same idempotency key started or joined; null when there is none.
   *
   * @throws {ConflictError} when that request had another body
   */
  async findRepeated({ userId, threadId }: ThreadKey, headers: StartHeaders): Promise<RunRecord | null> {
    const idempotency = idempotencyOf(headers.idempotencyKey, { threadId, body: headers.rawBody });
    if (idempotency === undefined) return null;
    const { key, bodyHash } = idempotency;
    return await new StoreDeadline(STORE_MS).within(() => this.store.findIdempotent(userId, key, bodyHash));
  }

  /** The run of a repeated request with a command, whose interrupts are no longer open; null for other requests. */
  private async findAnswered({ userId }: ThreadKey, repeats: AdmitRequest['idempotency']): Promise<RunRecord | null> {
    return repeats === undefined ? null : await this.store.findIdempotent(userId, repeats.key, repeats.bodyHash);
  }

  get(key: ThreadKey, runId: string): Promise<RunRecord> {
    return this.store.getRun(key, runId);
  }

  /** A run on any thread of the user. @throws {NotFoundError} */
  find(userId: string, runId: string): Promise<RunRecord> {
    return this.store.findRun(userId, runId);
  }

  async list(key: ThreadKey, query: RouteInput<typeof runRoutes.list>['query']): Promise<readonly RunSummary[]> {
    const { limit, offset, status } = query;
    return await this.store.listRuns(key, { limit, offset, ...omitUndefined({ status }) });
  }

  async remove(key: ThreadKey, runId: string): Promise<void> {
    publishEnds(this.bus, await this.store.deleteRun(key, runId));
  }

  /** Cancels a run: the request is stored, then published to the run's owner. A finished run is not changed. */
  async cancel(
    key: ThreadKey,
    runId: string,
    action: CancelAction,
    options?: Parameters<ThreadStore['requestCancel']>[3],
  ): Promise<RunSummary> {
    const result = await this.store.requestCancel(key, runId, action, options);
    publishEnds(this.bus, result.ended);
    if (result.broadcast) this.bus.publishCancel(runId, action);
    return result.run;
  }

  /**
   * Asks a run to stop at its next step, where it ends as interrupted. One that ends before its next step is not paused.
   *
   * @throws {ConflictError} when it has ended, was cancelled or was asked before
   */
  pause(key: ThreadKey, runId: string, by?: string): Promise<RunSummary> {
    return this.store.requestPause(key, runId, by);
  }

  /**
   * Continues a paused run from where it stopped, as a new run with its settings.
   *
   * @throws {ConflictError} when the run is not paused, was resumed already, or its settings are no longer stored
   */
  async resume(key: ThreadKey, runId: string, headers: StartHeaders): Promise<AdmittedRun> {
    const [run, thread] = await Promise.all([this.store.getRun(key, runId), this.store.getThread(key)]);
    return this.start(key, resumeRequest(run, thread.values.interrupts), headers);
  }

  /** Whether the run is over, or no longer exists because it was rolled back. */
  async isOver(key: ThreadKey, runId: string): Promise<boolean> {
    try {
      return isTerminal((await this.store.getRun(key, runId)).status);
    } catch (error) {
      if (error instanceof NotFoundError) return true;
      throw error;
    }
  }
}

/** Nobody with further rights is there when a cron starts a run. */
const NOBODY = { admin: false };

/** What a cron adds to the request that it repeats. */
export interface CronRequest {
  readonly runId: string;
  readonly apiKey: string | undefined;
  readonly cron: CronStart;
  /** The scheduled task whose schedule the agent of the run may stop. */
  readonly stoppableTask: string | undefined;
}

/** Refuses `on_completion: delete` for a thread that the client named, because only the client may delete it. */
function refuseToDelete(body: Pick<RunCreate, 'on_completion'>): void {
  if (body.on_completion !== 'delete') return;
  throw new InvalidRequestError(
    'on_completion: only the thread of a stateless run can be deleted with its run; delete this one by DELETE',
    { details: { field: 'on_completion' } },
  );
}

/** Refuses a `config.configurable.thread_id` that is not the thread of the path. */
function refuseOtherThread({ threadId }: ThreadKey, { config }: Pick<RunCreate, 'config'>): void {
  const named = config?.configurable?.['thread_id'] ?? threadId;
  if (named === threadId) return;
  throw new InvalidRequestError('config.configurable.thread_id: must be the thread of the path, or left out');
}

/** The thread of a stateless run: a new one, unless its configurable names a thread. */
function targetOfStateless(userId: string, body: RunCreate): RunTarget {
  const named = parse(
    ConfigurableThread,
    { thread_id: body.config?.configurable?.['thread_id'] ?? undefined },
    'config.configurable',
  );
  if (named.thread_id !== undefined) {
    refuseToDelete(body);
    return { userId, threadId: named.thread_id, temporary: false, ifNotExists: 'create' };
  }
  return { userId, threadId: newId(), temporary: body.on_completion !== 'keep', ifNotExists: 'create' };
}
