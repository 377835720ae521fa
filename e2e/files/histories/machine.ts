import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { newId } from '@caribou/contracts';
import { type SandboxRegistry, silentLogger, systemClock, type FileGenerations, type ThreadKey } from '@caribou/core';
import { objectTreeStore, volumeIdOf, WorkingCopies } from '@caribou/files';
import { openObjectStore } from '@caribou/objects';
import { PlaneFileSync } from '../../../apps/sandbox-manager/src/files/plane-file-sync.js';
import type { Files } from './model.js';

export interface MachineParts {
  readonly folder: string;
  /** The folder of the object store. */
  readonly objects: string;
  readonly generations: FileGenerations;
  readonly registry: SandboxRegistry;
}

const LEASE_MS = 600_000;

/** A machine with a disk of its own and one sandbox-manager, whose commands write into the working copies of threads. */
export class Machine {
  managerId = newId();
  private readonly homeDir: string;
  private sync: PlaneFileSync;

  private constructor(private readonly parts: MachineParts) {
    this.homeDir = mkdtempSync(join(parts.folder, 'machine-'));
    this.sync = this.newSync();
  }

  static async start(parts: MachineParts): Promise<Machine> {
    const machine = new Machine(parts);
    await parts.registry.renewManager(machine.managerId, LEASE_MS);
    return machine;
  }

  /** Kills the manager and starts another one on the same disk: what it knew is gone, and so is its hold on sandboxes. */
  async restart(): Promise<void> {
    const { registry } = this.parts;
    await registry.releaseManager(this.managerId);
    this.managerId = newId();
    this.sync = this.newSync();
    await registry.renewManager(this.managerId, LEASE_MS);
  }

  /** Lets another manager take the sandboxes of this one; it starts again at once. */
  private async giveUp(thread: ThreadKey, epoch: number, other: Machine): Promise<void> {
    const { registry } = this.parts;
    await registry.releaseManager(this.managerId);
    await other.bind(thread, epoch);
    await this.restart();
  }

  /** Gets the sandbox of a thread, from the other machine if that has it, and brings the files here. */
  async acquire(thread: ThreadKey, epoch: number, other: Machine): Promise<void> {
    const bound = await this.parts.registry.binding(thread);
    if (bound?.managerId === other.managerId) await other.giveUp(thread, epoch, this);
    else await this.bind(thread, epoch);
    await this.sync.refresh(thread);
  }

  private async bind(thread: ThreadKey, epoch: number): Promise<void> {
    const { managerId } = this;
    const proposal = { managerId, sandboxId: `box-${thread.threadId}`, driver: 'bwrap', epoch } as const;
    const binding = await this.parts.registry.bind(thread, proposal);
    if (binding.managerId !== managerId) throw new Error(`the sandbox is bound to ${binding.managerId}`);
  }

  /** Makes the changes of a command on the disk. */
  change(thread: ThreadKey, effect: ReadonlyMap<string, string | null>): void {
    const [[removed, gone] = [], [made, content] = []] = [...effect];
    const at = (path: string): string => join(this.dataOf(thread), path);
    const isRename =
      effect.size === 2 && removed !== undefined && gone === null && made !== undefined && content !== null;
    if (isRename) {
      mkdirSync(dirname(at(made)), { recursive: true });
      renameSync(at(removed), at(made));
      return;
    }
    for (const [path, text] of effect) {
      if (text === null) rmSync(at(path));
      else {
        mkdirSync(dirname(at(path)), { recursive: true });
        writeFileSync(at(path), text);
      }
    }
  }

  /** Stores what a command has changed, as at its end; much of it is stored in the background. */
  publish(thread: ThreadKey): Promise<void> {
    return this.sync.publish(thread);
  }

  /** Resolves when nothing remains to be stored in the background. */
  async settle(thread: ThreadKey): Promise<void> {
    await this.sync.settle(thread, 20_000);
    const head = await this.parts.generations.head(thread);
    if (head?.unpublished !== undefined) throw new Error('it is still noted that changes are not stored');
  }

  /** Makes a working copy equal to the head without a sandbox, as a fresh machine would; nothing is stored. */
  async hydrate(thread: ThreadKey): Promise<void> {
    await this.copies().refresh(thread, await this.parts.generations.head(thread));
  }

  /** The files of a thread that commands see here. */
  seen(thread: ThreadKey): Files {
    const root = this.dataOf(thread);
    const found = new Map<string, string>();
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile()) found.set(path.slice(root.length + 1), readFileSync(path, 'utf8'));
    }
    return found;
  }

  private dataOf({ userId, threadId }: ThreadKey): string {
    return join(this.homeDir, 'users', userId, 'threads', threadId, 'user-data');
  }

  private copies(): WorkingCopies {
    const folder = { path: this.parts.objects, isDurable: false, timeoutMs: 10_000 };
    const store = objectTreeStore(openObjectStore({ kind: 'folder', folder }, silentLogger));
    return new WorkingCopies({ homeDir: this.homeDir, store });
  }

  private newSync(): PlaneFileSync {
    return new PlaneFileSync({
      copies: this.copies(),
      generations: this.parts.generations,
      writer: { managerId: this.managerId, machine: volumeIdOf(this.homeDir) },
      clock: systemClock,
      logger: silentLogger,
      maxDirectBytes: 50_000,
      maxWaitMs: 20_000,
      machineWaitMs: 30_000,
    });
  }
}
