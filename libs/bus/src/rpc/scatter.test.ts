import { FleetSandboxes, type ScatterContract } from '@caribou/contracts';
import { type Logger, silentLogger } from '@caribou/core';
import { startNats, type TestServer, waitFor } from '@caribou/testing';
import { z } from 'zod';
import type { Bus } from '../connection/bus.js';
import { connectBus } from '../connect-bus.js';

const Question = {
  name: 'fleet.info',
  request: z.object({ of: z.string() }),
  reply: z.object({ id: z.string() }),
  timeoutMs: 400,
} satisfies ScatterContract;

describe('createScatter', () => {
  let nats: TestServer;
  const opened: Bus[] = [];
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_fields: unknown, message: string) => void warnings.push(message) };

  const connect = async (): Promise<Bus> => {
    const bus = connectBus({ url: nats.url, name: 'test', logger, streams: [] });
    opened.push(bus);
    await bus.waitUntilConnected(AbortSignal.timeout(10_000));
    return bus;
  };

  beforeAll(async () => {
    nats = await startNats();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((bus) => bus.close()));
    warnings.length = 0;
  });
  afterAll(() => nats.stop());

  /** Processes that answer with their id once the server knows of them. */
  const answering = (...ids: readonly string[]) =>
    Promise.all(
      ids.map(async (id) => {
        const bus = await connect();
        const stop = bus.answerAll(Question, ({ of }) => Promise.resolve({ id: `${id} of ${of}` }));
        await bus.ping(5_000);
        return { bus, stop };
      }),
    );

  test('collects one reply of each process, the one that asks included', async () => {
    const [first] = await answering('a', 'b', 'c');

    const { replies, isCut } = (await first?.bus.askAll(Question, { of: 'x' }, { maxReplies: 10 })) ?? {};
    expect(replies?.map(({ id }) => id).sort()).toEqual(['a of x', 'b of x', 'c of x']);
    expect(isCut).toBe(false);
  });

  test('a process that hangs, fails or answers nonsense is left out, and delays nobody', async () => {
    await answering('a');
    const other = await connect();
    other.answerAll(Question, () => new Promise(() => undefined));
    other.answerAll(Question, () => Promise.reject(new Error('no figures')));
    other.answerAll(Question, () => Promise.resolve({ name: 'a newer version' } as unknown as { id: string }));
    await other.ping(5_000);

    const { replies } = await (await connect()).askAll(Question, { of: 'x' }, { maxReplies: 10 });
    expect(replies).toEqual([{ id: 'a of x' }]);
    expect(warnings).toContain('a question was not answered');
    expect(warnings).toContain('a reply breaks the contract and is left out');
  });

  test('takes a bounded number of replies, and says that there were more', async () => {
    await answering('a', 'b', 'c');

    const { replies, isCut } = await (await connect()).askAll(Question, { of: 'x' }, { maxReplies: 2 });
    expect([replies.length, isCut]).toEqual([2, true]);
  });

  test('nobody answers: an empty list after the time of the question', async () => {
    expect(await (await connect()).askAll(Question, { of: 'x' }, { maxReplies: 2 })).toEqual({
      replies: [],
      isCut: false,
    });
  });

  test('a process that stopped answering, and a question that breaks the contract', async () => {
    const [one] = await answering('a');
    one?.stop();
    await one?.bus.ping(5_000);
    const asking = await connect();

    expect((await asking.askAll(Question, { of: 'x' }, { maxReplies: 2 })).replies).toEqual([]);
    const broken = asking.askAll(FleetSandboxes, { limit: 0 }, { maxReplies: 2 });
    await expect(broken).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('without NATS the question fails at once, or when the connection is lost, and is answered after it', async () => {
    await answering('a');
    const asking = await connect();
    const waiting = asking.askAll({ ...Question, timeoutMs: 60_000 }, { of: 'x' }, { maxReplies: 10 });
    const lost = expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
    await nats.kill9();
    await lost;
    await expect(asking.askAll(Question, { of: 'x' }, { maxReplies: 10 })).rejects.toMatchObject({
      code: 'unavailable',
    });

    await nats.restart();
    await asking.waitUntilConnected(AbortSignal.timeout(20_000));
    const isAnswered = async () =>
      asking.connected && (await asking.askAll(Question, { of: 'y' }, { maxReplies: 10 })).replies.length === 1;
    await waitFor(isAnswered, { what: 'the answer of the process that returned' });
  });
});
