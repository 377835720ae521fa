import { type FileCommit, type FileHead, silentLogger, systemClock, type ThreadKey } from '@caribou/core';
import type { WorkingCopies } from '@caribou/files';
import { waitFor } from '@caribou/testing';
import { PlaneFileSync } from './plane-file-sync.js';

const thread: ThreadKey = { userId: 'u', threadId: 't' };
const writer = { managerId: 'm1', machine: 'one' };
const LARGE = 1_000;

/** A copy with changes that are stored when the test says so, and generations in memory. */
class World {
  head: FileHead = {
    ...{ home: 'h', generation: 1, trees: {}, bytes: 0, files: 0, resetAt: 0, takenAt: 0, machine: 'one' },
  };
  /** Bytes that the next publication finds; 0 for none. */
  changed = 0;
  readonly commits: FileCommit[] = [];
  private letStore: (() => void)[] = [];

  readonly sync = new PlaneFileSync({
    copies: {
      refresh: async () => ({ files: 0, bytes: 0, removed: 0, kept: 0, ms: 0 }),
      publish: async () => this.plan(),
    } as unknown as WorkingCopies,
    generations: {
      head: async () => this.head,
      commit: async (_thread: ThreadKey, commit: FileCommit) => {
        this.commits.push(commit);
        const { unpublished, ...rest } = this.head;
        const kept = commit.isPartial === true && unpublished !== undefined ? { unpublished } : {};
        this.head = { ...rest, ...kept, generation: this.head.generation + 1, trees: commit.trees };
        return { committed: true, head: this.head };
      },
      noteUnpublished: async () => {
        this.head = { ...this.head, unpublished: { ...writer, sinceMs: 1 } };
      },
    } as unknown as ConstructorParameters<typeof PlaneFileSync>[0]['generations'],
    ...{ writer, clock: systemClock, logger: silentLogger },
    ...{ maxDirectBytes: 100, maxWaitMs: 5_000, machineWaitMs: 1_000 },
  });

  get storing(): number {
    return this.letStore.length;
  }

  /** Lets the publication that is under way store its changes. */
  store(): void {
    for (const go of this.letStore.splice(0)) go();
  }

  private plan() {
    const bytes = this.changed;
    this.changed = 0;
    if (bytes === 0) return null;
    const stored = {
      trees: { work: `w${bytes}` },
      bytes,
      files: 1,
      changed: 1,
      isPartial: false,
      record: () => undefined,
    };
    return {
      ...{ bytes, entries: 1, skipped: {}, stored: new Map() },
      store: async () => {
        await new Promise<void>((go) => this.letStore.push(go));
        return stored;
      },
    };
  }
}

let world: World;

beforeEach(async () => {
  world = new World();
  await world.sync.refresh(thread);
  world.changed = LARGE;
  await world.sync.publish(thread);
  await waitFor(() => world.storing === 1, { what: 'the publication in the background' });
  expect(world.head.unpublished).toBeDefined();
});

test('what changed while a publication was under way is noted until it is stored', async () => {
  world.changed = 10;
  await world.sync.publish(thread);
  world.store();
  await waitFor(() => world.storing === 1, { what: 'the second publication' });
  expect(world.commits).toMatchObject([{ trees: { work: 'w1000' }, isPartial: true }]);
  expect(world.head.unpublished).toBeDefined();
  world.store();
  await waitFor(() => world.head.unpublished === undefined, { what: 'the end of the note' });
  expect(world.commits.at(-1)).toMatchObject({ trees: { work: 'w10' } });
});

test('a call that changed nothing meanwhile leaves no note behind', async () => {
  await world.sync.publish(thread);
  world.store();
  await waitFor(() => world.head.unpublished === undefined, { what: 'the end of the note' });
  expect(world.head.trees).toEqual({ work: 'w1000' });
});

test('a note that came after the publication it was made for is removed', async () => {
  world.store();
  await waitFor(() => world.head.unpublished === undefined, { what: 'the end of the note' });
  world.head = { ...world.head, unpublished: { ...writer, sinceMs: 1 } };
  await world.sync.resume(thread);
  await waitFor(() => world.head.unpublished === undefined, { what: 'the end of the late note' });
  expect(world.head.trees).toEqual({ work: 'w1000' });
});

test('a thread is given away only when its changes are stored, and is not known any more then', async () => {
  await expect(world.sync.settleKnown(thread, 20)).rejects.toMatchObject({
    details: { dependency: 'object store' },
  });
  expect([world.sync.knows(thread), world.commits]).toEqual([true, []]);

  const settled = world.sync.settleKnown(thread, 30_000);
  world.store();
  await settled;

  expect([world.sync.knows(thread), world.head.trees]).toEqual([false, { work: 'w1000' }]);
  await world.sync.settleKnown(thread, 30_000);
  expect(world.commits).toHaveLength(1);
});
