import { type CallPermit, type Clock, type ModelGate, systemClock } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { type ModelGateOptions, redisModelGate } from './model-gate.js';
import { admitted, endpoint, enter, type GateConnections, useGateConnections } from '../testing/model-gate-fixture.js';

const BASE: ModelGateOptions = { failureThreshold: 3, recoveryMs: 60_000, maxConcurrentCalls: 0, knownMs: 0 };

let connections: GateConnections;

useGateConnections((opened) => {
  connections = opened;
});

/** A process with a separate connection. */
const gateOf = (options: Partial<ModelGateOptions> = {}): ModelGate =>
  redisModelGate(connections.connect(), { ...BASE, ...options });

const never = new AbortController().signal;

async function fail(gate: ModelGate, times: number): Promise<void> {
  for (let call = 0; call < times; call += 1) await (await admitted(gate)).release('failed');
}

const openNow = { kind: 'refused', reason: 'circuit_open', retryInMs: expect.any(Number) as number };

/** Two processes of which the first has opened the circuit, and its recovery time is over. */
async function halfOpen(options: Partial<ModelGateOptions> = {}): Promise<readonly [ModelGate, ModelGate, CallPermit]> {
  const gates = [gateOf({ recoveryMs: 200, ...options }), gateOf({ recoveryMs: 200, ...options })] as const;
  await fail(gates[0], 3);
  const entry = await waitFor(
    async () => {
      const asked = await enter(gates[0]);
      return asked.kind === 'admitted' && asked;
    },
    { what: 'a probe' },
  );
  return [...gates, entry.permit];
}

describe('the circuit', () => {
  test('opens for all processes when their failures together reach the threshold, and returns for how long', async () => {
    const [one, two] = [gateOf(), gateOf()];

    await fail(one, 2);
    expect((await enter(two)).kind).toBe('admitted');
    await fail(two, 1);

    expect(await enter(one)).toEqual(openNow);
    const refused = await enter(two);
    expect(refused.kind === 'refused' && refused.retryInMs).toBeGreaterThan(50_000);
  });

  test('counts failures in a row: a success anywhere resets the count, other outcomes do not count', async () => {
    const [one, two] = [gateOf(), gateOf()];

    await fail(one, 2);
    await (await admitted(two)).release('answered');
    await fail(one, 2);
    await (await admitted(two)).release('unknown');

    expect((await enter(one)).kind).toBe('admitted');
    await fail(two, 1);
    expect(await enter(one)).toEqual(openNow);
  });

  test('is separate for each model and endpoint', async () => {
    const gate = gateOf();

    await fail(gate, 3);

    for (const other of [
      { ...endpoint, model: 'm-2' },
      { ...endpoint, provider: 'elsewhere/v1' },
    ])
      expect((await gate.acquire(other, { userId: 'alice', signal: never })).kind).toBe('admitted');
  });

  test('lets exactly one of many callers try the model once the recovery time is over', async () => {
    const [one, two, first] = await halfOpen();
    await first.release('unknown');

    const entries = await Promise.all(Array.from({ length: 20 }, (_, at) => enter(at % 2 === 0 ? one : two)));

    const passes = entries.flatMap((entry) => (entry.kind === 'admitted' ? [entry.permit] : []));
    expect(passes.map(({ probe }) => probe)).toEqual([true]);
    expect(entries.filter(({ kind }) => kind === 'refused')).toEqual(Array.from({ length: 19 }, () => openNow));
  });

  test('is closed and reset by the success of the probe', async () => {
    const [one, two, probe] = await halfOpen();

    await probe.release('answered');

    expect((await admitted(two)).probe).toBe(false);
    await fail(two, 2);
    expect((await enter(one)).kind).toBe('admitted');
  });

  test('stays open for another recovery time when the probe fails', async () => {
    const [one, two, probe] = await halfOpen({ recoveryMs: 1_000 });

    await probe.release('failed');

    const refused = await enter(two);
    expect(refused).toEqual(openNow);
    expect(refused.kind === 'refused' && refused.retryInMs).toBeGreaterThan(500);
    expect(await enter(one)).toEqual(openNow);
  });

  test('a cancelled probe admits another one at once', async () => {
    const [, two, probe] = await halfOpen();
    expect(await enter(two)).toEqual(openNow);

    await probe.release('unknown');

    expect((await admitted(two)).probe).toBe(true);
  });

  test('a probe whose process died admits another one when its lease runs out, a living one does not', async () => {
    const [, two] = await halfOpen({ leaseMs: 1_500 });
    const kinds: string[] = [];
    // By the hundredth poll the first lease of the living probe would be over.
    await waitFor(async () => kinds.push((await enter(two)).kind) >= 100, {
      what: 'a hundred looks',
    });
    expect(new Set(kinds)).toEqual(new Set(['refused']));

    await connections.all[0]?.close();

    const next = await waitFor(
      async () => {
        const entry = await enter(two);
        return entry.kind === 'admitted' && entry;
      },
      { what: 'the dead probe to lapse' },
    );
    expect(next.permit.probe).toBe(true);
  });

  test('the outcome of a call from before the opening changes nothing', async () => {
    const [one, two] = [gateOf({ maxConcurrentCalls: 10 }), gateOf({ maxConcurrentCalls: 10 })];
    const [early, late] = [await admitted(one), await admitted(two)];
    await fail(one, 3);
    const circuit = () =>
      connections.all[0]?.use((client) => client.hgetall(connections.all[0]?.keys.model(endpoint).circuit ?? ''));
    const opened = await circuit();

    await early.release('answered');
    await late.release('failed');

    expect(opened).toMatchObject({ failures: '3' });
    expect(await circuit()).toEqual(opened);
    expect(await enter(two)).toEqual(openNow);
  });

  test('only the first reported outcome counts', async () => {
    const gate = gateOf();
    const pass = await admitted(gate);

    for (let times = 0; times < 5; times += 1) await pass.release('failed');

    expect((await enter(gate)).kind).toBe('admitted');
  });
});

describe('a closed circuit', () => {
  /** A process that counts its round trips, on a clock that the test controls. */
  function counted(): { readonly gate: ModelGate; readonly trips: () => number; readonly pass: (ms: number) => void } {
    const redis = connections.connect();
    const run = jest.fn(redis.run.bind(redis));
    let nowMs = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };
    const gate = redisModelGate({ keys: redis.keys, run }, { ...BASE, knownMs: 1_000, clock });
    return { gate, trips: () => run.mock.calls.length, pass: (ms) => (nowMs += ms) };
  }

  test('is read once a second, however many calls are made and answered', async () => {
    const { gate, trips, pass } = counted();

    for (let call = 0; call < 50; call += 1) {
      await (await admitted(gate)).release('answered');
      pass(10);
    }
    expect(trips()).toBe(1);
    pass(500);
    await (await admitted(gate)).release('answered');

    expect(trips()).toBe(2);
  });

  test('that opens elsewhere is noticed within that second', async () => {
    const { gate, pass } = counted();
    await admitted(gate);

    await fail(gateOf(), 3);
    expect((await enter(gate)).kind).toBe('admitted');
    pass(1_000);

    expect(await enter(gate)).toEqual(openNow);
  });

  test('that is opened by a call of this process is noticed at once', async () => {
    const { gate } = counted();

    await fail(gate, 3);

    expect(await enter(gate)).toEqual(openNow);
  });

  test('with failures is reset by a success, although it was not read for that call', async () => {
    const { gate } = counted();

    await fail(gate, 2);
    await (await admitted(gate)).release('answered');
    await fail(gate, 2);

    expect((await enter(gateOf())).kind).toBe('admitted');
  });
});
