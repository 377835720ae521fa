import { Injectable } from '@nestjs/common';
import { type AdminRunReply, type adminRunRoutes, type AdminRunsReply, type RouteInput } from '@caribou/contracts';
import type { PendingRun } from '@caribou/state';
import { Dependency } from '../dependency.js';
import type { Dependencies } from '../dependencies.js';
import { RunsService } from '../runs/runs.service.js';
import { type Actor, AdminAudit } from './admin-audit.js';

type Query = RouteInput<typeof adminRunRoutes.list>['query'];
type Cancel = RouteInput<typeof adminRunRoutes.cancel>['body'];

/** Runs of all users. */
@Injectable()
export class AdminRunsService {
  constructor(
    @Dependency('pendingRuns') private readonly pendingRuns: Dependencies['pendingRuns'],
    private readonly runs: RunsService,
    private readonly audit: AdminAudit,
  ) {}

  /** @throws {InvalidRequestError} for an invalid cursor */
  async list({ status, user, limit, cursor }: Query): Promise<AdminRunsReply> {
    const { runs, nextCursor } = await this.pendingRuns({ status, userId: user, limit, cursor });
    return { runs: runs.map(runJson), next_cursor: nextCursor };
  }

  /** Stops a run as its user would. @throws {NotFoundError} */
  async cancel(body: Cancel, actor: Actor): Promise<{ readonly run_id: string; readonly status: string }> {
    const { user_id: userId, thread_id: threadId, run_id: runId, action } = body;
    const act = { operation: 'run.cancel', what: action, userId, threadId, runId } as const;
    const run = await this.audit.record(act, actor, () => this.runs.cancel({ userId, threadId }, runId, action));
    return { run_id: run.run_id, status: run.status };
  }
}

const runJson = ({ run, userId, status, owner }: PendingRun): AdminRunReply => ({
  run_id: run.run_id,
  thread_id: run.thread_id,
  user_id: userId,
  assistant_id: run.assistant_id,
  status,
  created_at: run.created_at,
  started_at: run.started_at,
  attempt: run.attempt,
  owner,
  is_cancelled: run.cancel !== null,
});
