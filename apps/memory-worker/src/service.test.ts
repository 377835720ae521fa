import { type Bus, connectBus } from '@caribou/bus';
import { busAccess, streams } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { startNats, startRedis, startService, type TestServer, type TestService, waitFor } from '@caribou/testing';
import { connect } from 'nats';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The processes that consume streams other than the turns'; the same tests apply to both. */
const services = [
  { app: 'memory-worker', stream: streams.memory },
  { app: 'subagent-pool', stream: streams.subagents },
];

const runnerOf = (nats: TestServer): Bus =>
  connectBus({
    url: nats.url,
    name: 'agent-runner',
    access: busAccess('agent-runner'),
    logger: silentLogger,
    streams: ['turns', 'subagents', 'memory', 'deadLetters'] as const,
    checkMs: 200,
  });

describe.each(services)('$app as a process', ({ app, stream }) => {
  let nats: TestServer;
  let redis: TestServer;
  let service: TestService;
  /** Makes the streams, as an agent-runner does. */
  let runner: Bus;

  const start = (env: Readonly<Record<string, string>> = {}): Promise<TestService> =>
    startService({
      entry: `dist/services/${app}.js`,
      env: {
        NATS_URL: nats.url,
        REDIS_URL: redis.url,
        CARIBOU_HOME: nats.dataDir,
        CARIBOU_CONFIG: join(nats.dataDir, 'config.yaml'),
        ...env,
      },
    });
  const get = async (path: string): Promise<Response> => await fetch(`http://127.0.0.1:${service.healthPort}${path}`);

  beforeAll(async () => {
    redis = await startRedis({ appendonly: false });
  });
  afterAll(() => redis.stop());

  beforeEach(async () => {
    nats = await startNats();
    await writeFile(join(nats.dataDir, 'config.yaml'), 'clocks:\n  sweep_ms: 200\n');
    service = await start();
    runner = runnerOf(nats);
  });

  afterEach(async () => {
    await runner.close();
    await service.kill9();
    await nats.stop();
  });

  test('becomes ready when a runner has created its stream, and again after the runner recreated a deleted one', async () => {
    await waitFor(async () => (await service.ready()).ok, { what: 'readiness' });
    const raw = await connect({ servers: nats.url });
    const manager = await raw.jetstreamManager();
    expect((await manager.consumers.info(stream.name, stream.consumer)).config.max_deliver).toBe(-1);
    await runner.close();
    await manager.streams.delete(stream.name);
    await waitFor(async () => !(await service.ready()).ok, { what: 'the loss' });
    await expect(manager.streams.info(stream.name)).rejects.toThrow('not found');
    await raw.close();
    runner = runnerOf(nats);
    await waitFor(async () => (await service.ready()).ok, { what: 'readiness' });
    expect((await get('/health')).status).toBe(200);
    expect(await (await get('/metrics')).text()).toContain('process_resident_memory_bytes');
  });

  test('reports what is missing while NATS is unavailable, and is ready again after its restart', async () => {
    await waitFor(async () => (await service.ready()).ok, { what: 'readiness' });
    await nats.kill9();
    const reason = await waitFor(async () => !(await service.ready()).ok && (await service.ready()).body, {
      what: 'the loss',
    });
    expect(JSON.stringify(reason)).toContain('nats');
    expect((await get('/health')).status).toBe(200);
    await nats.restart();
    await waitFor(async () => (await service.ready()).ok, { what: 'readiness' });
  });

  test('serves health, readiness and metrics at the named host and nowhere else', async () => {
    await service.kill9();
    service = await start({ CARIBOU_HEALTH_HOST: '127.0.0.3' });
    const at = (host: string, path: string) => fetch(`http://${host}:${service.healthPort}${path}`);

    expect((await at('127.0.0.3', '/health')).status).toBe(200);
    await waitFor(async () => (await at('127.0.0.3', '/ready')).ok, { what: 'readiness' });
    expect(await (await at('127.0.0.3', '/metrics')).text()).toContain('process_resident_memory_bytes');
    await expect(at('127.0.0.1', '/health')).rejects.toThrow('fetch failed');
  });

  test('exits with 0 at SIGTERM, also while NATS is unavailable', async () => {
    expect(await service.terminate()).toEqual({ code: 0, signal: null });
    await nats.kill9();
    service = await start();
    expect((await service.ready()).ok).toBe(false);
    expect(await service.terminate()).toEqual({ code: 0, signal: null });
    expect(service.output()).not.toContain('"level":"error"');
  });
});
