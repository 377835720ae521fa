import { FencedError, newId } from '@caribou/contracts';
import { human, type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisExecutionJournal } from '../executions/execution-journal.js';
import { redisSandboxRegistry } from '../executions/sandbox-registry.js';

const LEASE_MS = 10_000;

describe('when the wall clock of Redis jumps', () => {
  let store: StoreFixture;
  const custom = { kind: 'custom', data: 1 } as const;
  const bound = { managerId: 'm1', sandboxId: 'box', driver: 'bwrap' } as const;

  useStore(
    (opened) => {
      store = opened;
    },
    { leaseMs: LEASE_MS },
  );

  /** Shifts deadlines as a jump of the clock does, as Redis stores them as points of time. */
  async function jumpClock(jumpMs: number): Promise<void> {
    for (const key of await store.keys()) {
      const leftMs = await store.redis.use((client) => client.pttl(key));
      if (leftMs > 0) await store.redis.use((client) => client.pexpire(key, leftMs - jumpMs));
    }
  }

  const isLeased = async (lease: string): Promise<boolean> =>
    (await store.redis.use((client) => client.exists(lease))) === 1;

  test('forward past the lease, a run continues where it is, and no attempt is counted', async () => {
    const key = thread();
    const { lease } = store.redis.keys.thread(key);
    await store.admit(key);
    const claimed = await store.claim(key);
    const writes = [
      () => store.runs.renew(claimed.lease),
      () => store.runs.append(claimed.lease, [custom]),
      () => store.step(claimed, { messages: [human('a')] }),
    ];
    for (const write of writes) {
      await jumpClock(60_000);
      expect(await isLeased(lease)).toBe(false);
      await write();
      expect(await isLeased(lease)).toBe(true);
    }
    await jumpClock(60_000);
    expect(await store.runs.claim(key, newId())).toMatchObject({ kind: 'run', run: { attempt: 2 }, exhausted: false });
    await expect(store.runs.renew(claimed.lease)).rejects.toThrow(FencedError);
  });

  test('forward past the lease, a run can be ended, and releases the thread', async () => {
    const key = thread();
    await store.admit(key);
    const claimed = await store.claim(key);
    await jumpClock(60_000);

    await store.finish(claimed);

    await expect(store.runs.renew(claimed.lease)).rejects.toThrow(FencedError);
    expect(await store.runs.claim(key, newId())).toEqual({ kind: 'idle' });
    expect(await store.keys()).not.toContain(store.redis.keys.thread(key).owner);
  });

  test('forward past the lease, commands are started for the epoch until the thread is released', async () => {
    const [registry, journal] = [redisSandboxRegistry(store.redis), redisExecutionJournal(store.redis)];
    const key = thread();
    await store.admit(key);
    const { lease } = await store.claim(key);
    const { epoch } = lease;
    const entry = { key: 'run:call', argsHash: 'h', kind: 'exec', epoch, managerId: 'm1', sandboxId: 'box' } as const;
    await jumpClock(60_000);

    await registry.bind(key, { ...bound, epoch });
    expect(await journal.start(key, entry)).toEqual({ state: 'new' });
    expect(await registry.currentEpoch(key)).toBe(epoch);

    await store.runs.handOver(lease);
    await expect(journal.start(key, { ...entry, key: 'run:next' })).rejects.toThrow(FencedError);
    expect(await registry.currentEpoch(key)).toBe(0);
  });

  test('back, the lease of a dead runner ends one lease after the first claim of the thread', async () => {
    const key = thread();
    const { lease } = store.redis.keys.thread(key);
    await store.admit(key);
    await store.claim(key);
    await jumpClock(-3_600_000);
    expect(await store.redis.use((client) => client.pttl(lease))).toBeGreaterThan(3_600_000);

    expect(await store.runs.claim(key, newId())).toEqual({ kind: 'busy' });

    expect(await store.redis.use((client) => client.pttl(lease))).toBeLessThanOrEqual(LEASE_MS);
    expect(await isLeased(lease)).toBe(true);
  });
});
