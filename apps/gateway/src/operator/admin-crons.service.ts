import { Injectable } from '@nestjs/common';
import {
  type AdminCronReply,
  type adminCronRoutes,
  type AdminCronsReply,
  AppError,
  NotFoundError,
  type RouteInput,
} from '@caribou/contracts';
import type { CronStore, StoredCron } from '@caribou/state';
import { isoOrNull, scheduleText } from '../crons/cron-json.js';
import { readCron, type ReadCron } from '../crons/cron-spec.js';
import { Dependency } from '../dependency.js';
import { type Actor, AdminAudit } from './admin-audit.js';

type Query = RouteInput<typeof adminCronRoutes.list>['query'];

/** Names a cron of any user. */
export interface AnyCron {
  readonly userId: string;
  readonly cronId: string;
}

/** Crons and scheduled tasks of all users. */
@Injectable()
export class AdminCronsService {
  constructor(
    @Dependency('crons') private readonly crons: CronStore,
    private readonly audit: AdminAudit,
  ) {}

  /** @throws {InvalidRequestError} for an invalid cursor */
  async list({ user, limit, cursor }: Query): Promise<AdminCronsReply> {
    const page =
      user === undefined
        ? await this.crons.page({ limit, cursor })
        : { crons: await this.crons.list(user), nextCursor: null };
    const read = page.crons.map(readOrNull);
    const known = read.filter((cron) => cron !== null);
    return {
      crons: known.map(cronJson),
      next_cursor: page.nextCursor,
      unreadable: read.length - known.length,
    };
  }

  /** Takes the due time from a cron, without the checks of a change. @throws {NotFoundError} {ConflictError} when it was changed meanwhile */
  async pause({ userId, cronId }: AnyCron, actor: Actor): Promise<AdminCronReply> {
    const cron = readCron(await this.crons.get(userId, cronId));
    if (!cron.spec.enabled) return cronJson(cron);
    const spec = JSON.stringify({ ...cron.spec, enabled: false });
    const draft = { userId, cronId, spec, dueMs: null, maxRuns: null };
    const act = { operation: 'cron.pause', what: cronId, userId } as const;
    return cronJson(
      readCron(await this.audit.record(act, actor, () => this.crons.replace(draft, cron.stored.version))),
    );
  }

  /** @throws {NotFoundError} */
  async remove({ userId, cronId }: AnyCron, actor: Actor): Promise<void> {
    await this.crons.get(userId, cronId);
    const act = { operation: 'cron.delete', what: cronId, userId } as const;
    const wasThere = await this.audit.record(act, actor, () => this.crons.remove(userId, cronId));
    if (!wasThere) throw new NotFoundError(`Cron ${cronId} does not exist`);
  }
}

/** Null for a specification that this version cannot read. */
function readOrNull(stored: StoredCron): ReadCron | null {
  try {
    return readCron(stored);
  } catch (error) {
    if (error instanceof AppError || error instanceof SyntaxError) return null;
    throw error;
  }
}

const cronJson = ({ stored, spec }: ReadCron): AdminCronReply => ({
  cron_id: stored.cronId,
  user_id: stored.userId,
  kind: spec.task === null ? 'cron' : 'scheduled_task',
  title: spec.task?.title ?? null,
  schedule: scheduleText(spec.times),
  timezone: spec.timezone,
  thread_id: spec.thread_id,
  enabled: spec.enabled,
  due_at: isoOrNull(stored.dueMs),
  retries: stored.retries,
  started: stored.started,
  missed: stored.missed,
  last_at: stored.lastAt,
  last_run_id: stored.lastRunId,
  last_thread_id: stored.lastThreadId,
  last_error: stored.lastError,
});
