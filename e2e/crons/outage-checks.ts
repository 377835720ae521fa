import type { CronReply } from '@caribou/contracts';
import { redisCrons, type StoredCron } from '@caribou/state';
import { announcedBy } from '../support/shifted-system.js';
import type { WebhookReceiver } from '../support/webhook-receiver.js';
import { type DueTimes, judgeDueTimes } from './due-time-rule.js';
import type { OutageScene, WaitingRun } from './outage-scene.js';

/** More decisions than a cron makes in any plan; its list has the newest 200. */
const MAX_DECISIONS = 200;

/** Compares what became of each due time of a cron with the rule, with the cron's counters and with what was announced. */
export async function judgeCron(
  { system, plan, receiver }: OutageScene,
  { cron_id: cronId, next_run_date: first }: CronReply,
  ahead: StoredCron | undefined,
): Promise<DueTimes> {
  const [decisions, record] = await system.withRedis((redis) => {
    const store = redisCrons(redis, { maxPerUser: 0 });
    const all = store.runs('default', cronId, { limit: MAX_DECISIONS, offset: 0 });
    return Promise.all([all, store.get('default', cronId)]);
  });
  const { catchUp, catchUpMs, stepMs } = plan;
  const times = { firstMs: Date.parse(first ?? ''), nextMs: ahead?.dueMs ?? Number.NaN };
  const found = judgeDueTimes({ catchUp, catchUpMs, stepMs, ...times, decisions });
  const missed = found.late.length + found.replaced.length;
  const announced = announcedBy(receiver, cronId);
  const faults = [
    ...found.faults,
    ...(record.started === found.started.length ? [] : [`the cron counts ${record.started} runs`]),
    ...(record.missed === missed ? [] : [`the cron counts ${record.missed} missed due times instead of ${missed}`]),
    ...decisions.flatMap(({ runId, scheduledFor }) => {
      if (runId === undefined || announced.get(Date.parse(scheduledFor))?.join() === runId) return [];
      return [`${scheduledFor}: run ${runId} was not announced`];
    }),
    ...(announced.size === found.started.length ? [] : [`runs of ${announced.size} due times were announced`]),
  ];
  return { ...found, faults: faults.map((text) => `${catchUp}, cron ${cronId}: ${text}`) };
}

interface EndEvent {
  readonly startedMs: number;
  readonly endedMs: number;
}

/** Runs of a list whose end was not announced, or is not as it must be. */
export function eventFaults(
  { receiver }: OutageScene,
  runs: readonly WaitingRun[],
  check: (event: EndEvent, dueMs: number) => true | string,
): readonly string[] {
  return runs.flatMap(({ runId, dueMs }) => {
    const event = receiver.accepted.get(runId);
    if (event === undefined) return [`run ${runId} was not announced`];
    const at = (field: string): number => Date.parse(String(event[field]));
    const checked = check({ startedMs: at('run_started_at'), endedMs: at('run_ended_at') }, dueMs);
    return checked === true ? [] : [`run ${runId} ${checked}`];
  });
}

/** The receiver answers each delivery, and no gateway dies while it takes any: each event arrives once, and each run has ended well. */
export const deliveryFaults = ({ acceptances, accepted }: WebhookReceiver): readonly string[] => [
  ...[...acceptances].flatMap(([id, count]) => (count === 1 ? [] : [`event ${id} arrived ${count} times`])),
  ...[...accepted].flatMap(([id, { status }]) =>
    status === 'success' ? [] : [`run ${id} ended as ${String(status)}`],
  ),
];
