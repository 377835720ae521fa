import { connectBus } from '@caribou/bus';
import { FleetInfo, type FleetReply } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { ProcessReport } from '@caribou/service';
import { redisProcessRegistry, redisSandboxRegistry, type RedisConnection } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const KEYS = { CARIBOU_API_KEYS: 'alice-key-1:alice,root-key-12:root:admin' };
const metrics = {
  readHoldings: () => ({ slots: [], caches: [] }),
  readFigure: async () => undefined,
  measure: () => undefined,
};

describe('GET /admin/fleet', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  let redis: RedisConnection;

  beforeAll(async () => {
    gateway = await fixture.open({ env: KEYS });
    redis = fixture.connectRedis();
  }, 60_000);

  const ask = async (key = 'root-key-12') => {
    const reply = await gateway.app.inject({ url: '/api/admin/fleet', headers: { 'x-api-key': key } });
    return { status: reply.statusCode, body: reply.json<FleetReply>() };
  };
  const connect = async () => {
    const bus = connectBus({ url: fixture.nats.url, name: 'test', logger: silentLogger, streams: [] });
    fixture.closeAtEnd(() => bus.close());
    await bus.waitUntilConnected(AbortSignal.timeout(10_000));
    return bus;
  };
  const lease = (processId: string) => redisProcessRegistry(redis, 'runs').renew({ processId, leaseMs: 30_000 });

  test('lists the processes that answer, and as silent those that only have a lease', async () => {
    const runner = await connect();
    const report = new ProcessReport({ service: 'agent-runner', processId: 'runner-1', metrics, checks: [] });
    report.start(runner);
    fixture.closeAtEnd(() => Promise.resolve(report.stop()));
    await runner.ping(5_000);
    const hanging = await connect();
    hanging.answerAll(FleetInfo, () => new Promise(() => undefined));
    await hanging.ping(5_000);
    await lease('runner-1');
    await lease('runner-2');
    await redisSandboxRegistry(redis).renewManager('manager-1', 10_000);

    const { status, body } = await ask();

    expect(status).toBe(200);
    expect(body.processes.map(({ service, id }) => [service, id])).toEqual([
      ['gateway', expect.any(String)],
      ['agent-runner', 'runner-1'],
    ]);
    expect(body.processes[0]).toMatchObject({
      // Nobody runs what a gateway needs for runs.
      state: 'degraded',
      problems: expect.arrayContaining([{ name: 'sandbox', reason: expect.any(String) }]),
      slots: [{ kind: 'conversions', used: 0, limit: expect.any(Number) }],
      caches: expect.arrayContaining([expect.objectContaining({ name: 'heads' })]),
      open_streams: 0,
      pid: process.pid,
    });
    expect(body.silent).toEqual([
      { service: 'agent-runner', id: 'runner-2', renewed_ms_ago: expect.any(Number), lease: 'held' },
      { service: 'sandbox-manager', id: 'manager-1', renewed_ms_ago: expect.any(Number), lease: 'held' },
    ]);
    expect(body).toMatchObject({ is_cut: false, nats: { reachable: true }, redis: { reachable: true } });
  });

  test('a process that ends orderly while it is asked for is not silent', async () => {
    await lease('runner-3');
    const asking = ask();
    await redisProcessRegistry(redis, 'runs').release('runner-3');

    expect((await asking).body.silent.map(({ id }) => id)).not.toContain('runner-3');
  });

  test('is for administrators', async () => {
    expect((await ask('alice-key-1')).status).toBe(403);
  });

  test('without NATS it says so, and lists what Redis knows', async () => {
    await lease('runner-2');
    await fixture.nats.kill9();
    const { body } = await waitFor(
      async () => {
        const answer = await ask();
        return !answer.body.nats.reachable && answer;
      },
      { what: 'the answer without NATS' },
    );

    expect(body.nats).toEqual({ reachable: false, reason: expect.stringContaining('NATS') });
    expect(body.processes).toEqual([]);
    expect(body.silent.map(({ id }) => id)).toContain('runner-2');
    await fixture.nats.restart();
  });
});
