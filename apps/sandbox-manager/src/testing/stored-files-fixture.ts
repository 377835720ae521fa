import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FilesConfig } from '@caribou/config';
import { newId } from '@caribou/contracts';
import type { FileGenerations, SandboxScope } from '@caribou/core';
import { redisFileGenerations } from '@caribou/state';
import { temporaryFolder } from '@caribou/testing';
import { limits, ManagerFixture, notAborted, type RunningManager, type TestMachine } from './manager-fixture.js';

/** Managers of several machines whose files are in one object store, and a thread for each test. */
export class StoredFilesFixture {
  readonly files: FilesConfig;
  scope: SandboxScope = { userId: 'default', threadId: newId(), epoch: 1 };
  readonly generations: FileGenerations;
  private readonly objects: string;
  /** Where the objects are while the store is away. */
  private readonly hidden: string;

  constructor(
    readonly managers: ManagerFixture,
    private readonly folder: string,
  ) {
    this.objects = join(folder, 'objects');
    this.hidden = join(folder, 'hidden');
    this.generations = redisFileGenerations(managers.redis);
    this.files = {
      store: { kind: 'folder', folder: { path: this.objects, isDurable: false, timeoutMs: 5_000 } },
      maxDirectBytes: 100_000,
      maxWaitMs: 1_000,
      machineWaitMs: 5_000,
      maxCopies: 100,
    };
  }

  async newThread(): Promise<void> {
    this.scope = { userId: 'default', threadId: newId(), epoch: 1 };
    await this.managers.setLease(this.scope);
  }

  newMachine(): TestMachine {
    const home = mkdtempSync(join(this.folder, 'home-'));
    chmodSync(home, 0o755);
    return { home, files: this.files };
  }

  start(machine: TestMachine): Promise<RunningManager> {
    return this.managers.startManager(undefined, {}, machine);
  }

  hideStore(): void {
    mkdirSync(this.objects, { recursive: true });
    renameSync(this.objects, this.hidden);
    writeFileSync(this.objects, '');
  }

  showStore(): void {
    rmSync(this.objects, { force: true });
    renameSync(this.hidden, this.objects);
  }

  /** What others see of a machine that is gone. */
  async lose(manager: RunningManager): Promise<void> {
    const { running } = this.managers;
    running.splice(running.indexOf(manager), 1);
    await this.managers.crash(manager);
    manager.parts.sync.forget(this.scope);
    await manager.parts.redis.close();
    await manager.parts.outputs.close();
  }

  /** Executes a command. @throws {Error} when its outcome is not known */
  async run(command: string) {
    const { managers, scope } = this;
    const result = await managers.remote.exec(scope, { key: managers.newKey(), command, ...limits }, notAborted);
    if (result.outcome !== 'done') throw new Error(result.reason);
    return result;
  }

  workspaceOf({ home }: TestMachine): string {
    const { userId, threadId } = this.scope;
    return join(home, 'users', userId, 'threads', threadId, 'user-data', 'workspace');
  }
}

/** Opens a fixture before the tests of the file, with a new thread for each test, and closes it after them. */
export function useStoredFiles(receive: (fixture: StoredFilesFixture) => void): void {
  const folder = temporaryFolder();
  let fixture: StoredFilesFixture;
  beforeAll(async () => {
    fixture = new StoredFilesFixture(await ManagerFixture.open(() => Promise.resolve()), folder);
    receive(fixture);
  }, 60_000);
  beforeEach(() => fixture.newThread());
  afterEach(async () => {
    for (const manager of [...fixture.managers.running]) await fixture.managers.stop(manager);
  });
  afterAll(() => fixture.managers.close());
}
