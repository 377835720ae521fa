import type { FileGenerations, FileHead, FileTrees, ThreadKey } from '@caribou/core';
import { type HumanMessage, omitUndefined } from '@caribou/contracts';
import { type ClaimedRun, type StoreFixture, thread, useStore } from '@caribou/testing';
import { redisSandboxRegistry } from '../executions/sandbox-registry.js';
import { redisFileGenerations } from '../files/file-generations.js';

export const SIZE = { bytes: 10, files: 1 };
export const manager = { managerId: 'm1', machine: 'one' };

/** The generations of files of threads in a store of its own, which is open while the tests of a file run. */
export class GenerationsFixture {
  store!: StoreFixture;
  files!: FileGenerations;

  constructor() {
    useStore((opened) => {
      this.store = opened;
      this.files = redisFileGenerations(opened.redis);
    });
  }

  /** Commits on the head that there is, and returns the new one. */
  async put(key: ThreadKey, trees: FileTrees, more = {}): Promise<FileHead> {
    const { files } = this;
    const { committed, head } = await files.commit(key, { expected: await files.head(key), trees, ...SIZE, ...more });
    expect(committed).toBe(true);
    if (head === null) throw new Error('the commit left no head');
    return head;
  }

  /** Adds a message to the head, or to an older checkpoint, and returns the id of the new one. */
  async say(key: ThreadKey, message: HumanMessage, checkpointId?: string): Promise<string> {
    const update = { messages: [message] };
    const view = await this.store.threads.updateState(key, update, omitUndefined({ checkpointId }));
    return view.checkpointId ?? '';
  }

  /** A thread with a run that its sandbox is bound for. */
  async boundThread(): Promise<ThreadKey> {
    const key = thread();
    await this.store.admit(key);
    await this.bind(key, await this.store.claim(key));
    return key;
  }

  async bind(key: ThreadKey, { lease }: Pick<ClaimedRun, 'lease'>): Promise<void> {
    const registry = redisSandboxRegistry(this.store.redis);
    await registry.renewManager('m1', 60_000);
    await registry.bind(key, { managerId: 'm1', sandboxId: 'box', driver: 'docker', epoch: lease.epoch });
  }

  async emptyThread(): Promise<ThreadKey> {
    const key = thread();
    await this.store.threads.createThread(key, { metadata: {} });
    return key;
  }
}
