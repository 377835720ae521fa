import { resolve } from 'node:path';
import type { CronReply } from '@caribou/contracts';
import { createRedis, type RedisConnection } from '@caribou/state';
import { type TestService, waitFor, waitForOutput } from '@caribou/testing';
import type { ApiClient } from './client.js';
import { type AppName, clientOf, nonce, nth, type Stack, startStack } from './stack.js';
import type { WebhookReceiver } from './webhook-receiver.js';

const MINUTE_MS = 60_000;

/** The processes of the system, whose clocks are a minute apart. */
const PROCESSES: readonly (readonly [app: AppName, offsetMs: number])[] = [
  ['gateway', 0],
  ['gateway', MINUTE_MS],
  ['gateway', -MINUTE_MS],
  ['agent-runner', MINUTE_MS],
  ['agent-runner', -MINUTE_MS],
];

export interface ShiftedProcess {
  readonly app: AppName;
  readonly offsetMs: number;
  service: TestService;
}

export interface ShiftedOptions {
  readonly receiver: WebhookReceiver;
  /** Lines of the section `crons` of config.yaml, without their indent. */
  readonly crons: readonly string[];
  /** Further lines of the section `webhooks`, without their indent. */
  readonly webhooks?: readonly string[];
  readonly productionClocks?: boolean;
}

/** Three gateways and two runners whose clocks are a minute apart, on a Redis that loses no answered write. */
export interface ShiftedSystem {
  readonly stack: Stack;
  readonly processes: readonly ShiftedProcess[];
  gateways(): readonly ShiftedProcess[];
  /** A client of the first gateway. */
  client(): ApiClient;
  /** Kills a process and starts it again with its clock. */
  restart(one: ShiftedProcess): Promise<void>;
  /** Creates a cron whose runs are announced to the receiver. */
  createCron(path: string, body: Readonly<Record<string, unknown>>): Promise<CronReply>;
  /** Disables crons and waits until no run is under way and no webhook event waits. */
  stopCrons(ids: readonly string[], timeoutMs: number): Promise<void>;
  /** Calls with a connection to its Redis, which is closed afterwards. */
  withRedis<Result>(use: (redis: RedisConnection) => Promise<Result>): Promise<Result>;
}

export async function startShiftedSystem(options: ShiftedOptions): Promise<ShiftedSystem> {
  const { receiver, crons, webhooks = [], productionClocks = false } = options;
  const sections = { crons, webhooks: [`allow: ["localhost:${receiver.port}"]`, ...webhooks] };
  const config = Object.entries(sections).flatMap(([name, lines]) => [`${name}:`, ...lines.map((line) => `  ${line}`)]);
  const stack = await startStack({
    fsync: 'always',
    gateways: 0,
    runners: 0,
    productionClocks,
    config: `${config.join('\n')}\n`,
  });
  const startProcess = (app: AppName, offsetMs: number): Promise<TestService> =>
    stack.start(app, {
      NODE_OPTIONS: `--require ${resolve('e2e/support/clock-offset.cjs')}`,
      TEST_CLOCK_OFFSET_MS: String(offsetMs),
    });
  const processes = await Promise.all(
    PROCESSES.map(async ([app, offsetMs]) => ({ app, offsetMs, service: await startProcess(app, offsetMs) })),
  );
  const gateways = () => processes.filter(({ app }) => app === 'gateway');
  const client = (): ApiClient => clientOf(nth(gateways(), 0).service);
  const withRedis: ShiftedSystem['withRedis'] = async (use) => {
    const redis = createRedis({ url: stack.redis.url });
    try {
      return await use(redis);
    } finally {
      await redis.close();
    }
  };
  return {
    stack,
    processes,
    gateways,
    client,
    withRedis,
    restart: async (one) => {
      await one.service.kill9();
      one.service = await startProcess(one.app, one.offsetMs);
    },
    createCron: async (path, body) => {
      const answer = await client().call<CronReply>('POST', path, { ...announcedRun(receiver), ...body });
      if (answer.status !== 200) throw new Error(`a cron was refused: ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    stopCrons: async (ids, timeoutMs) => {
      for (const id of ids) {
        const { body } = await client().call<CronReply>('PATCH', `/runs/crons/${id}`, { enabled: false });
        if (body.next_run_date !== null) throw new Error(`cron ${id} still has a next due time`);
      }
      await waitFor(() => withRedis(assertQuiet), { what: 'the end of all runs and deliveries', timeoutMs });
    },
  };
}

/** The request of a run that a webhook announces. */
export const announcedRun = (receiver: WebhookReceiver, script = '#say done') => ({
  assistant_id: 'lead_agent',
  input: { messages: [{ type: 'human', content: `${nonce()}\n${script}` }] },
  webhook: receiver.url,
});

/** How far the clock of a service is ahead, in whole minutes, by its first log line. */
export async function minutesAhead(service: TestService): Promise<number> {
  const [, time = ''] = /"time":"([^"]+)"/.exec(await waitForOutput(service, /"time":"[^"]+"/)) ?? [];
  return Math.round((Date.parse(time) - Date.now()) / MINUTE_MS) || 0;
}

/** The runs of a cron that webhooks have announced: due time (ms) → ids of runs. */
export function announcedBy(receiver: WebhookReceiver, cronId: string): Map<number, string[]> {
  const found = new Map<number, string[]>();
  for (const { run_id: runId, metadata } of receiver.accepted.values()) {
    const { cron_id: of, scheduled_for: due } = metadata as Readonly<Record<string, string>>;
    if (of === cronId) found.set(Date.parse(due ?? ''), [...(found.get(Date.parse(due ?? '')) ?? []), String(runId)]);
  }
  return found;
}

/** @throws Error that says what is left while events of the outbox wait, crons are due or runs are under way */
async function assertQuiet(redis: RedisConnection): Promise<true> {
  const { keys } = redis;
  const sets = [keys.outbox('default').all, keys.pending, keys.cron('x', 'x').due];
  const left = await redis.use((all) =>
    Promise.all(sets.map(async (key) => [key, await all.zrange(key, 0, 9)] as const)),
  );
  const waiting = left.filter(([, members]) => members.length > 0);
  if (waiting.length > 0) throw new Error(`not empty: ${JSON.stringify(Object.fromEntries(waiting))}`);
  return true;
}
