import { endpoint, enter, admitted, type GateConnections, useGateConnections } from '../testing/model-gate-fixture.js';
import { type ModelGateOptions, redisModelGate } from './model-gate.js';
import { redisModelCircuits } from './model-circuits.js';

const BASE: ModelGateOptions = { failureThreshold: 2, recoveryMs: 60_000, maxConcurrentCalls: 1, knownMs: 0 };
const line = {
  ...({ id: 'a1', user_id: 'root', operation: 'model.circuit.reset', what: 'm-1', verdict: 'ok' } as const),
  ...{ decided_by: 'root', decided_from: '10.0.0.1' },
};

let connections: GateConnections;

useGateConnections((opened) => {
  connections = opened;
});

const circuits = () => redisModelCircuits(connections.connect());
const gateOf = (options: Partial<ModelGateOptions> = {}) =>
  redisModelGate(connections.connect(), { ...BASE, ...options });

async function open(gate: ReturnType<typeof gateOf>): Promise<void> {
  for (let call = 0; call < 2; call += 1) await (await admitted(gate)).release('failed');
}

describe('redisModelCircuits', () => {
  test('a model that nobody has called is closed, and counts nothing', async () => {
    expect(await circuits().read(endpoint)).toEqual({ state: 'closed', failures: 0, calls: 0, waiting: 0 });
  });

  test('shows failures in a row, calls under way, and those that wait for a slot', async () => {
    const gate = gateOf();
    await (await admitted(gate)).release('failed');
    const call = await admitted(gate);
    const abort = new AbortController();
    const queued = enter(gate, abort.signal).catch((error: unknown) => error);
    const states = circuits();
    let state = await states.read(endpoint);
    while (state.waiting === 0) state = await states.read(endpoint);

    expect(state).toEqual({ state: 'closed', failures: 1, calls: 1, waiting: 1 });
    abort.abort(new Error('enough'));
    await queued;
    await call.release('answered');
    expect(await states.read(endpoint)).toEqual({ state: 'closed', failures: 0, calls: 0, waiting: 0 });
  });

  test('an open circuit says until when, and is half-open while a probe is under way', async () => {
    const beforeMs = Date.now();
    await open(gateOf());
    const opened = await circuits().read(endpoint);
    expect(opened).toMatchObject({ state: 'open', failures: 2 });
    expect(opened.retryAtMs).toBeGreaterThan(beforeMs + 50_000);

    const redis = connections.connect();
    await redis.use((client) => client.hset(redis.keys.model(endpoint).circuit, 'open_until', Date.now() - 1));
    const probe = await admitted(gateOf());
    expect(probe.probe).toBe(true);
    const half = await circuits().read(endpoint);
    expect(half).toMatchObject({ state: 'half_open', failures: 2, calls: 1 });
    expect(half.retryAtMs).toBeGreaterThan(Date.now());
    await probe.release('unknown');
  });

  test('a reset closes it for every process at once, with one line in the audit stream', async () => {
    const [one, two] = [gateOf(), gateOf()];
    await open(one);
    expect((await enter(two)).kind).toBe('refused');

    await circuits().reset(endpoint, line);
    expect(await circuits().read(endpoint)).toMatchObject({ state: 'closed', failures: 0 });
    for (const gate of [one, two]) await (await admitted(gate)).release('answered');
    const redis = connections.connect();
    const written = await redis.use((client) => client.xrange(redis.keys.audit, '-', '+'));
    expect(written.map(([, [, text]]) => JSON.parse(text ?? '') as unknown)).toEqual([
      { ...line, at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) },
    ]);
  });

  test('a reset while a probe is under way counts the probe for the closed circuit; done twice it changes nothing more', async () => {
    await open(gateOf());
    const redis = connections.connect();
    await redis.use((client) => client.hset(redis.keys.model(endpoint).circuit, 'open_until', Date.now() - 1));
    const probe = await admitted(gateOf());

    await circuits().reset(endpoint, line);
    await circuits().reset(endpoint, line);
    await probe.release('failed');

    expect(await circuits().read(endpoint)).toMatchObject({ state: 'closed', failures: 1, calls: 0 });
  });
});
