import { Injectable } from '@nestjs/common';
import {
  type CronCreate,
  type CronFilter,
  type CronReply,
  type cronRoutes,
  type CronSpec,
  type CronUpdate,
  newId,
  NotFoundError,
  type RouteInput,
} from '@caribou/contracts';
import type { CronStore, ThreadStore } from '@caribou/state';
import { parseAssistantId } from '../assistants/assistant-catalog.js';
import { Dependency } from '../dependency.js';
import { RunsService } from '../runs/runs.service.js';
import type { GatewaySettings } from '../settings.js';
import { cronJson } from './cron-json.js';
import { bodyOf, targetOf } from './cron-run.js';
import { firstDue, readCron, type ReadCron, serializeSpec } from './cron-spec.js';

/** Who makes a cron, and what was sent. */
export interface CronRequester {
  readonly userId: string;
  /** Id of the API key of the request. */
  readonly apiKey: string | undefined;
  /** The body as it was sent: each run parses it again. */
  readonly sent: Readonly<Record<string, unknown>>;
}

type Search = RouteInput<typeof cronRoutes.search>['body'];

/** Fields of the request that a cron repeats. */
const REPEATED = [
  ...['assistant_id', 'input', 'config', 'context', 'webhook', 'interrupt_before', 'interrupt_after'],
  ...['multitask_strategy', 'stream_mode', 'stream_subgraphs', 'stream_resumable', 'durability', 'checkpoint_during'],
];
/** Fields whose change gives a cron another due time. */
const TIMING = ['schedule', 'timezone', 'end_time', 'enabled'] as const;

const pickRepeated = (sent: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(sent).filter(([name, value]) => REPEATED.includes(name) && value !== null));

/** The crons of LangGraph's API. */
@Injectable()
export class CronsService {
  constructor(
    @Dependency('crons') private readonly crons: CronStore,
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getThread'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'crons'>,
    private readonly runs: RunsService,
  ) {}

  /** @throws {InvalidRequestError} {NotFoundError} for the thread or the assistant, {QuotaError} {TooLargeError} */
  async create({ userId, apiKey, sent }: CronRequester, body: CronCreate, threadId: string | null): Promise<CronReply> {
    const spec: CronSpec = {
      times: { type: 'cron', expression: body.schedule },
      timezone: body.timezone ?? null,
      end_time: body.end_time ?? null,
      enabled: body.enabled ?? true,
      max_runs: null,
      thread_id: threadId,
      on_run_completed: body.on_run_completed ?? 'delete',
      metadata: body.metadata ?? {},
      request: pickRepeated(sent),
      api_key: apiKey ?? null,
      task: null,
    };
    return cronJson(await this.store(userId, spec));
  }

  /** Checks and stores a new cron. */
  async store(userId: string, spec: CronSpec, cronId = newId()): Promise<ReadCron> {
    const text = serializeSpec(spec, this.settings.crons);
    const dueMs = await firstDue(this.crons, spec, this.settings.crons);
    await this.checkRun(userId, spec);
    return readCron(await this.crons.create({ userId, cronId, spec: text, dueMs, maxRuns: spec.max_runs }));
  }

  /** Checks and stores a changed specification. @throws {ConflictError} when the cron was changed meanwhile */
  async change({ stored }: ReadCron, spec: CronSpec, retimed: boolean): Promise<ReadCron> {
    const text = serializeSpec(spec, this.settings.crons);
    const due = retimed ? { dueMs: await firstDue(this.crons, spec, this.settings.crons) } : {};
    await this.checkRun(stored.userId, spec);
    const { userId, cronId, version } = stored;
    return readCron(await this.crons.replace({ userId, cronId, spec: text, maxRuns: spec.max_runs, ...due }, version));
  }

  async update({ userId, sent }: CronRequester, cronId: string, body: CronUpdate): Promise<CronReply> {
    const cron = await this.find(userId, cronId);
    const { spec } = cron;
    const schedule = body.schedule ?? undefined;
    const changed: CronSpec = {
      ...spec,
      times: schedule === undefined ? spec.times : { type: 'cron', expression: schedule },
      timezone: body.timezone ?? spec.timezone,
      end_time: body.end_time === undefined ? spec.end_time : body.end_time,
      enabled: body.enabled ?? spec.enabled,
      on_run_completed: body.on_run_completed ?? spec.on_run_completed,
      metadata: body.metadata ?? spec.metadata,
      request: { ...spec.request, ...pickRepeated(sent) },
    };
    const retimed = TIMING.some((field) => body[field] !== undefined);
    return cronJson(await this.change(cron, changed, retimed));
  }

  async search(userId: string, query: Search): Promise<readonly Partial<CronReply & { readonly now: string }>[]> {
    const { sort_by: by, sort_order: order, select, limit, offset } = query;
    const found = await this.matching(userId, query);
    const key = by ?? 'created_at';
    const direction = (order ?? 'desc') === 'asc' ? 1 : -1;
    found.sort((a, b) => direction * compare(a[key] ?? '', b[key] ?? ''));
    const page = found.slice(offset, offset + limit);
    if (select === null || select === undefined) return page;
    const now = select.includes('now') ? new Date(await this.crons.now()).toISOString() : '';
    const picked = (cron: CronReply) =>
      Object.entries({ ...cron, now }).filter(([name]) => select.some((one) => one === name));
    return page.map((cron) => Object.fromEntries(picked(cron)));
  }

  async count(userId: string, filter: CronFilter): Promise<number> {
    return (await this.matching(userId, filter)).length;
  }

  /** @throws {NotFoundError} */
  async remove(userId: string, cronId: string): Promise<void> {
    await this.find(userId, cronId);
    await this.crons.remove(userId, cronId);
  }

  /** Removes the crons of a thread that was deleted. */
  async removeOfThread(userId: string, threadId: string): Promise<void> {
    for (const { stored, spec } of await this.list(userId))
      if (spec.thread_id === threadId && spec.task === null) await this.crons.remove(userId, stored.cronId);
  }

  /** All crons of the user with scheduled tasks, oldest first. */
  async list(userId: string): Promise<readonly ReadCron[]> {
    return (await this.crons.list(userId)).map(readCron);
  }

  /** @throws {NotFoundError} also for a scheduled task, which has routes of its own */
  private async find(userId: string, cronId: string): Promise<ReadCron> {
    const cron = readCron(await this.crons.get(userId, cronId));
    if (cron.spec.task === null) return cron;
    throw new NotFoundError(`Cron ${cronId} does not exist`);
  }

  private async checkRun(userId: string, spec: CronSpec): Promise<void> {
    if (spec.thread_id !== null) await this.threads.getThread({ userId, threadId: spec.thread_id });
    await this.runs.check(targetOf(userId, spec, newId()), bodyOf(spec));
  }

  private async matching(userId: string, filter: CronFilter): Promise<CronReply[]> {
    const { assistant_id: asked, thread_id: threadId, enabled, metadata } = filter;
    const assistant = asked === null || asked === undefined ? undefined : parseAssistantId(asked).assistantId;
    const wanted = Object.entries(metadata ?? {}).map(([name, value]) => [name, JSON.stringify(value)] as const);
    const crons = (await this.list(userId)).filter(({ spec }) => spec.task === null).map(cronJson);
    return crons.filter(
      (cron) =>
        (assistant === undefined || cron.assistant_id === assistant) &&
        (threadId === null || threadId === undefined || cron.thread_id === threadId) &&
        (enabled === null || enabled === undefined || cron.enabled === enabled) &&
        wanted.every(([name, value]) => JSON.stringify(cron.metadata[name]) === value),
    );
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
