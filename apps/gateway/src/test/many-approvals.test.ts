import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type InterruptRecord, newId } from '@caribou/contracts';
import { redisRunStore, redisThreadStore } from '@caribou/state';
import { ai, humanMessage } from '@caribou/testing';
import { InterruptDeadlines } from '../approvals/interrupt-deadlines.js';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

jest.setTimeout(240_000);

const THREADS = 10_000;
const AT_ONCE = 200;
/** What objects of the store's client and the engine vary by. */
const MAX_GROWTH_BYTES = 8 * 1024 * 1024;

const fixture = useGateways();
let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await fixture.open({ config: 'clocks: {sweep_ms: 200}\n' });
}, 60_000);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const footprint = () => {
  collectGarbage();
  return { heapBytes: process.memoryUsage().heapUsed, resources: process.getActiveResourcesInfo().length };
};

const waiting = (expiresMs: number): InterruptRecord => ({
  id: newId().replaceAll('-', ''),
  kind: 'question',
  value: 'go on?',
  scope: 'title.after_model',
  key: 'title#1',
  run_id: newId(),
  decider: 'owner',
  created_at: '2026-01-05T00:00:00.000Z',
  expires_ms: expiresMs,
  on_expiry: 'no',
});

/** Makes as many threads that wait. */
async function fillStore(expiresMs: number): Promise<void> {
  const redis = fixture.connectRedis();
  const store = redisThreadStore(redis, { maxThreads: 0 });
  const runner = redisRunStore(redis);
  const first = { userId: 'default', threadId: newId() };
  await store.createThread(first, {});
  const { app } = gateway;
  await app.inject({
    method: 'POST',
    url: `/api/threads/${first.threadId}/runs`,
    payload: { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: 'x' }] } },
  });
  const claimed = await runner.claim(first, newId());
  if (claimed.kind !== 'run') throw new Error(claimed.kind);
  const { lease, head } = claimed;
  const state = { messages: [humanMessage('x'), ai('y')], interrupts: { open: [waiting(expiresMs)], answered: [] } };
  await runner.finish(lease, {
    status: 'interrupted',
    events: [],
    commit: { head, state, next: ['after_model'], source: 'loop', step: 1, events: [] },
  });
  for (let made = 1; made < THREADS; made += AT_ONCE) {
    const copies = Array.from({ length: Math.min(AT_ONCE, THREADS - made) }, () => store.copyThread(first, newId()));
    await Promise.all(copies);
  }
}

test('10,000 threads that wait hold no memory, timer or connection of a gateway, and cost a sweep nothing', async () => {
  const deadlines = gateway.app.get(InterruptDeadlines);
  await deadlines.sweep();
  const before = footprint();
  await fillStore(Date.now() + 3_600_000);
  const redis = fixture.connectRedis();
  expect(await redis.use((client) => client.zcard(redis.keys.interruptsDue))).toBe(THREADS);

  const startMs = performance.now();
  for (let round = 0; round < 20; round += 1) expect(await deadlines.sweep()).toBe(0);
  const sweepMs = (performance.now() - startMs) / 20;
  const page = await gateway.app.inject({ method: 'GET', url: '/api/approvals?limit=50' });
  expect(page.json<{ approvals: unknown[] }>().approvals).toHaveLength(50);
  const after = footprint();

  // Two connections to Redis were opened by this test.
  expect(after.resources - before.resources).toBeLessThan(10);
  expect(after.heapBytes - before.heapBytes).toBeLessThan(MAX_GROWTH_BYTES);
  expect(sweepMs).toBeLessThan(100);
});
