import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { UnavailableError } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { type Machine, PlaneFixture } from '../../testing/plane-fixture.js';
import { makeChange, randomChange } from '../../testing/random-changes.js';

const thread = { userId: 'alice', threadId: 't1' };
const asRoot = process.getuid?.() === 0 ? test : test.skip;

/** Whether the work succeeded; it may fail because the store is away. */
async function succeeds(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof UnavailableError) return false;
    throw error;
  }
}

/** What a machine without a copy reads: no call fails for it. */
async function readAnew(plane: PlaneFixture): Promise<Record<string, string>> {
  const { failure } = plane.objects;
  plane.objects.failure = () => undefined;
  const reader = plane.machine();
  await reader.refresh(thread);
  plane.objects.failure = failure;
  return reader.snapshot(thread);
}

function write(machine: Machine, path: string, content: string): void {
  const target = join(machine.userData(thread), path);
  mkdirSync(join(target, '..'), { recursive: true });
  writeFileSync(target, content);
}

/** The first generation, and then changes of every kind that are not published. */
async function changedCopy(plane: PlaneFixture): Promise<Machine> {
  const machine = plane.machine();
  await machine.refresh(thread);
  for (let n = 0; n < 8; n += 1) write(machine, `workspace/d${n}/small`, `${n}`.repeat(300));
  write(machine, 'uploads/large', 'u'.repeat(5_000));
  await machine.publish(thread);
  write(machine, 'workspace/d1/small', 'changed');
  write(machine, 'workspace/new/large', 'n'.repeat(6_000));
  write(machine, 'outputs/middle', 'm'.repeat(900));
  rmSync(join(machine.userData(thread), 'workspace/d2'), { recursive: true });
  return machine;
}

describe('publishing when calls of the store fail', () => {
  test('nothing is committed before the contents are stored, although the tree that names them is', async () => {
    const plane = new PlaneFixture();
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    try {
      const machine = plane.machine();
      await machine.refresh(thread);
      write(machine, 'outputs/middle', 'm'.repeat(900));
      const put = plane.objects.put.bind(plane.objects);
      jest.spyOn(plane.objects, 'put').mockImplementation(async (key, body) => {
        if (key.startsWith('blobs/')) await gate;
        await put(key, body);
      });
      const publishing = machine.publish(thread);
      await waitFor(() => [...plane.objects.objects.keys()].some((key) => key.startsWith('trees/')), {
        what: 'a stored tree',
      });
      expect(await plane.generations.head(thread)).toBeNull();
      open();
      expect((await publishing).outcome).toBe('published');
      expect(await readAnew(plane)).toEqual(machine.snapshot(thread));
    } finally {
      open();
      plane.close();
    }
  });

  test.each(['before', 'after'] as const)(
    'wherever a process is killed, %s a call, others read the old or the new generation, and the next process completes it',
    async (when) => {
      for (let killedAt = 1; ; killedAt += 1) {
        const plane = new PlaneFixture();
        try {
          const machine = await changedCopy(plane);
          const old = await readAnew(plane);
          plane.objects.calls.put = plane.objects.calls.get = 0;
          plane.objects.failure = (call) => (call >= killedAt ? when : undefined);
          const isDone = await succeeds(() => machine.publish(thread));
          expect(await readAnew(plane)).toEqual(isDone ? machine.snapshot(thread) : old);
          if (isDone) {
            expect(killedAt).toBeGreaterThan(4);
            return;
          }
          plane.objects.failure = () => undefined;
          machine.restart();
          expect((await machine.publish(thread)).outcome).toBe('published');
          expect(await readAnew(plane)).toEqual(machine.snapshot(thread));
        } finally {
          plane.close();
        }
      }
    },
    60_000,
  );

  test('a commit whose reply was lost is not made twice', async () => {
    const plane = new PlaneFixture();
    try {
      const machine = await changedCopy(plane);
      const { commit } = plane.generations;
      plane.generations.commit = async (...args) => {
        await commit.apply(plane.generations, args);
        throw new UnavailableError('the reply was lost');
      };
      expect(await succeeds(() => machine.publish(thread))).toBe(false);
      plane.generations.commit = commit;
      machine.restart();
      expect(await machine.publish(thread)).toMatchObject({ outcome: 'unchanged', head: { generation: 2 } });
      expect(await readAnew(plane)).toEqual(machine.snapshot(thread));
    } finally {
      plane.close();
    }
  });

  test('a refresh that is killed at any call is completed by the next', async () => {
    const plane = new PlaneFixture();
    try {
      const machine = await changedCopy(plane);
      const other = plane.machine();
      await other.refresh(thread);
      await machine.publish(thread);
      for (let killedAt = 1; ; killedAt += 1) {
        plane.objects.calls.put = plane.objects.calls.get = 0;
        plane.objects.failure = (call) => (call >= killedAt ? 'before' : undefined);
        other.restart();
        if (await succeeds(() => other.refresh(thread))) break;
        expect((await other.publish(thread).catch(() => ({ outcome: 'failed' }))).outcome).not.toBe('published');
      }
      expect(other.snapshot(thread)).toEqual(machine.snapshot(thread));
      expect((await other.publish(thread)).outcome).toBe('unchanged');
    } finally {
      plane.close();
    }
  });

  asRoot(
    'any history survives failures of one call in twenty',
    async () => {
      const rounds = fc.array(fc.array(randomChange, { maxLength: 10 }), { minLength: 1, maxLength: 4 });
      await fc.assert(
        fc.asyncProperty(rounds, fc.infiniteStream(fc.nat(19)), async (history, luck) => {
          const plane = new PlaneFixture();
          const machines = [plane.machine(), plane.machine()] as const;
          plane.objects.failure = () => (luck.next().value === 0 ? 'after' : undefined);
          const untilDone = async (work: () => Promise<unknown>, check: () => Promise<void>): Promise<void> => {
            while (!(await succeeds(work))) await check();
          };
          try {
            for (const [round, changes] of history.entries()) {
              const machine = machines[round % 2 === 0 ? 0 : 1];
              await untilDone(
                () => machine.refresh(thread),
                async () => machine.restart(),
              );
              const old = await readAnew(plane);
              expect(machine.snapshot(thread)).toEqual(old);
              for (const change of changes) makeChange(machine.roots(thread), change);
              await untilDone(
                () => machine.publish(thread),
                async () => expect(await readAnew(plane)).toEqual(old),
              );
              expect(await readAnew(plane)).toEqual(machine.snapshot(thread));
            }
          } finally {
            plane.close();
          }
        }),
        { numRuns: 15 },
      );
    },
    120_000,
  );
});
