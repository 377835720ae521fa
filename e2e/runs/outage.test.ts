import { setTimeout as sleep } from 'node:timers/promises';
import { createRedis } from '@caribou/state';
import { countIn, outageFigures } from '../../tools/bench/outage/outage-figures.js';
import { TurnLoad } from '../../tools/bench/outage/turn-load.js';
import { nth, type Stack, startStack } from '../support/stack.js';

const LANES = 12;
const TOKENS = 60;
const PACE_MS = 50;
const AFTER_MS = 1_000;
/** Longer than all leases of the stack. */
const PAUSE_MS = 2_500;
const HEADROOM_BYTES = 64 * 1024;

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ runners: 2, config: 'title: {enabled: false}\n' });
});

afterAll(() => stack.stop());

/** Lets a server fail while turns begin, call tools, stream and end; returns what became of them. */
async function figuresOf(fault: () => Promise<void>) {
  stack.model.reset();
  const apiUrl = `http://127.0.0.1:${nth(stack.gateways, 0).healthPort}/api/langgraph`;
  const options = { apiUrl, lanes: LANES, tokens: TOKENS, paceMs: PACE_MS, toolEvery: 4, drainMs: 30_000 };
  const load = new TurnLoad(options);
  await load.start();
  await sleep(TOKENS * PACE_MS + AFTER_MS);
  const underWay = load.underWay();
  const beganMs = performance.now();
  await fault();
  const times = { beganMs, endedMs: performance.now(), underWay };
  await sleep(AFTER_MS);
  const runs = await load.stop();
  return outageFigures({ runs, fault: times, tokens: TOKENS, countCalls: countIn(stack.model.requests('#tokens')) });
}

async function pause(server: 'redis' | 'nats'): Promise<void> {
  stack[server].pause();
  await sleep(PAUSE_MS);
  stack[server].resume();
}

async function fillRedis(): Promise<void> {
  const redis = createRedis({ url: stack.redis.url });
  const setMaxBytes = (bytes: number) => redis.use((client) => client.config('SET', 'maxmemory', bytes));
  const info = await redis.use((client) => client.info('memory'));
  await setMaxBytes(Number(/^used_memory:(\d+)/m.exec(info)?.[1]) + HEADROOM_BYTES);
  await sleep(PAUSE_MS);
  await setMaxBytes(0);
  await redis.close();
}

describe('turns under way while a server fails', () => {
  test.each([
    { name: 'Redis is paused for longer than all leases', fault: () => pause('redis'), repeated: 0 },
    { name: 'Redis is full', fault: fillRedis, repeated: 0 },
    { name: 'Redis is killed and started again', fault: () => stack.redis.restart(), repeated: 1.1 },
    { name: 'NATS is paused', fault: () => pause('nats'), repeated: 0 },
    { name: 'NATS is killed and started again', fault: () => stack.nats.restart(), repeated: 0 },
  ])('$name: all succeed, with whole streams', async ({ fault, repeated }) => {
    const figures = await figuresOf(fault);

    expect(figures.underWay).toBeGreaterThan(LANES / 2);
    expect(figures.byStatus).toEqual({ success: figures.accepted });
    expect(figures.lost).toBe(0);
    expect(figures.brokenStreams).toBe(0);
    expect(figures.repeatedShare).toBeLessThanOrEqual(repeated);
  });
});
