import { loadConfig } from '@caribou/config';
import { emptyMemory, type MemoryDocument, UnavailableError } from '@caribou/contracts';
import { type Logger, type MemoryStore, RunLost, silentLogger, systemClock } from '@caribou/core';
import { createRedis, type RedisConnection, redisMemoryStore } from '@caribou/state';
import { fakeRun, startRedis, type TestServer } from '@caribou/testing';
import { memoryForPrompt } from './memory-for-prompt.js';

const { memory: section } = loadConfig({ OPENAI_API_KEY: 'unused', OPENAI_MODEL: 'm1' }, '/nowhere').chain;

const remembering = (content: string): MemoryDocument => ({
  ...emptyMemory(),
  facts: [
    {
      id: 'fact_1',
      content,
      category: 'preference',
      confidence: 0.9,
      createdAt: '2026-03-14T10:00:00Z',
      source: 'unknown',
    },
  ],
});

describe(memoryForPrompt, () => {
  let server: TestServer;
  let redis: RedisConnection;
  let store: MemoryStore;
  const write = (userId: string, agent: string, content: string) =>
    store.write(
      { userId, agent },
      { document: remembering(content), expectedRevision: 0, cause: { kind: 'imported' } },
    );

  beforeAll(async () => {
    server = await startRedis({ appendonly: false });
    redis = createRedis({ url: server.url });
    store = redisMemoryStore(redis);
    await write('alice', 'lead_agent', 'likes tea');
    await write('alice', 'poet', 'likes rhymes');
  });
  afterAll(async () => {
    await redis.close();
    await server.stop();
  });

  const runOf = (userId: string, agentName?: string) =>
    fakeRun({ userId, clock: systemClock, context: agentName === undefined ? {} : { agent_name: agentName } });

  test("the lead agent is shown the user's memory, a custom agent its own instead", async () => {
    const { textFor: read } = memoryForPrompt(store, section);
    const run = runOf('alice');

    expect(await read(run)).toBe('Facts:\n- [preference | 0.90] likes tea');
    expect(run.decisions).toEqual(['memory: shown']);
    expect(await read(runOf('alice', 'poet'))).toBe('Facts:\n- [preference | 0.90] likes rhymes');
    expect(await read(runOf('alice', 'cook'))).toBe('');
    const making = fakeRun({
      userId: 'alice',
      clock: systemClock,
      context: { agent_name: 'poet', is_bootstrap: true },
    });
    expect(await read(making)).toBe('Facts:\n- [preference | 0.90] likes tea');
  });

  test('a change is shown to the next run', async () => {
    const { textFor: read } = memoryForPrompt(store, section);
    const scope = { userId: 'carol', agent: 'lead_agent' };
    expect([await read(runOf('carol')), await read(runOf('carol'))]).toEqual(['', '']);

    for (const content of ['likes rain', 'likes snow']) {
      const { revision } = await store.read(scope);
      const cause = { kind: 'fact_edited' } as const;
      await store.write(scope, { document: remembering(content), expectedRevision: revision, cause });
      expect([await read(runOf('carol')), await read(runOf('carol'))]).toEqual(
        Array(2).fill(`Facts:\n- [preference | 0.90] ${content}`),
      );
    }
    await store.eraseUser('carol');
    expect(await read(runOf('carol'))).toBe('');
    await write('carol', 'lead_agent', 'likes fog');
    expect(await read(runOf('carol'))).toContain('likes fog');
  });

  test('memories of the same revision are told apart', async () => {
    const reading: MemoryStore['read'] = ({ userId, agent }) =>
      Promise.resolve({ document: remembering(`${userId} ${agent}`), revision: 7, era: 7 });
    const { textFor: read } = memoryForPrompt({ read: reading }, section);
    const texts = [await read(runOf('alice')), await read(runOf('alice', 'poet')), await read(runOf('bob'))];

    expect(texts.map((text) => text?.split('] ')[1])).toEqual(['alice lead_agent', 'alice poet', 'bob lead_agent']);
  });

  test('a memory that is being read already is not read again', async () => {
    const read = jest.fn(store.read);
    const memory = memoryForPrompt({ read }, section);
    const run = runOf('alice');
    const reading = memory.read(run);

    expect(await memory.textFor(run, reading)).toBe('Facts:\n- [preference | 0.90] likes tea');
    expect(read).toHaveBeenCalledTimes(1);
  });

  test("another user's memory is not shown", async () => {
    expect(await memoryForPrompt(store, section).textFor(runOf('bob'))).toBe('');
  });

  test.each([{ enabled: false }, { injection_enabled: false }])('with %j nothing is read', async (off) => {
    const read = jest.fn(store.read);

    const memory = memoryForPrompt({ read }, { ...section, ...off });
    const run = runOf('alice');

    expect(await memory.textFor(run, memory.read(run))).toBe('');
    expect(read).not.toHaveBeenCalled();
  });

  test.each<[string, MemoryStore['read'], 'warn' | 'error']>([
    ['is away', () => Promise.reject(new UnavailableError('away')), 'warn'],
    ['never answers', () => new Promise(() => undefined), 'warn'],
    ['breaks its contract', () => Promise.reject(new TypeError('a defect')), 'error'],
  ])('a store that %s costs a line in the log', async (_, read, level) => {
    const told: string[] = [];
    const logger: Logger = { ...silentLogger, warn: () => told.push('warn'), error: () => told.push('error') };

    expect(await memoryForPrompt({ read }, section).textFor(fakeRun({ logger }))).toBeUndefined();
    expect(told).toEqual([level]);
  });

  test('a run that is aborted meanwhile ends with the reason of that', async () => {
    const run = fakeRun({ clock: systemClock });
    const reading = memoryForPrompt({ read: () => new Promise(() => undefined) }, section).textFor(run);
    run.abort(new RunLost('taken over'));

    await expect(reading).rejects.toThrow('taken over');
    await expect(memoryForPrompt(store, section).textFor(run)).rejects.toThrow('taken over');
  });
});
