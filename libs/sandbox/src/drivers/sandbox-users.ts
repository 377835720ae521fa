import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UnavailableError } from '@caribou/contracts';
import { type CommandIdentity, commandIdentity, errnoOf, type ThreadKey } from '@caribou/core';
import type { SandboxSpec } from './driver.js';
import type { SandboxSettings } from './settings.js';

type Settings = Pick<SandboxSettings, 'uids' | 'runDir' | 'mounts'>;

/**
 * The user of each sandbox's commands: one of `sandbox.uids` for itself, or, without any or without root, the one user
 * of all commands. The group is the same for all.
 *
 *  U1  No two sandboxes of a machine have one uid at once: a uid is claimed by a file in the run directory, whose name is
 *      the uid, and given up when the sandbox was removed, or when all sandboxes of its dead manager have ended.
 *  U2  A thread keeps its uid, which is the owner of its data directory, on every machine. It gets another one only when
 *      its own is not in the range, or another live sandbox of the machine has it; then its files are given to that one.
 *  U3  A new thread gets the uid that a hash of its name leads to, or the next free one.
 */
export class SandboxUsers {
  private readonly folder: string;
  private readonly known = new Map<string, CommandIdentity>();

  constructor(private readonly settings: Settings) {
    this.folder = join(settings.runDir, FOLDER);
  }

  /**
   * Makes the thread's directories and gives them to the sandbox's user. Nothing of an earlier sandbox of the thread may
   * run any more. Idempotent.
   *
   * @throws {UnavailableError} when no uid is free, or the files could not be given to it
   */
  async prepare(sandbox: SandboxSpec): Promise<void> {
    const { uids, mounts } = this.settings;
    if (uids.count === 0 || !isRoot()) return mounts.prepareData(sandbox, isRoot() ? commandIdentity() : undefined);
    const { uid: present } = await mounts.ownerOf(sandbox);
    const isInRange = present >= uids.first && present < uids.first + uids.count;
    const identity = { uid: this.claim(sandbox, isInRange ? present : derivedUid(uids, sandbox)), gid: groupOfAll() };
    await mounts.prepareData(sandbox, identity);
    this.known.set(sandbox.sandboxId, identity);
  }

  /** The user of a sandbox that was prepared here. */
  identityOf({ sandboxId }: Pick<SandboxSpec, 'sandboxId'>): CommandIdentity {
    return this.known.get(sandboxId) ?? commandIdentity();
  }

  /** Gives up the uid of a sandbox that was removed. Idempotent. */
  release(sandbox: SandboxSpec): void {
    const uid = this.known.get(sandbox.sandboxId)?.uid;
    this.known.delete(sandbox.sandboxId);
    if (uid !== undefined && this.claimantOf(uid) === claimOf(sandbox)) this.remove(uid);
  }

  /** The first uid from `wanted` on that no other sandbox has (U1). */
  private claim(sandbox: SandboxSpec, wanted: number): number {
    const { first, count } = this.settings.uids;
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    for (let step = 0; step < count; step += 1) {
      const uid = first + ((wanted - first + step) % count);
      if (this.takes(uid, sandbox)) return uid;
    }
    throw new UnavailableError(`sandbox.uids: all ${count} users are in use on this machine`, {
      details: { dependency: 'sandbox' },
    });
  }

  /** A claim of the same sandbox by an earlier manager passes to this one: it has ended what that one left. */
  private takes(uid: number, sandbox: SandboxSpec): boolean {
    const path = this.path(uid);
    try {
      writeFileSync(path, claimOf(sandbox), { mode: 0o600, flag: 'wx' });
      return true;
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    }
    if (this.claimantOf(uid)?.split(' ')[0] !== sandbox.sandboxId) return false;
    writeFileSync(path, claimOf(sandbox), { mode: 0o600 });
    return true;
  }

  private claimantOf(uid: number): string | undefined {
    return readClaim(this.path(uid));
  }

  private remove(uid: number): void {
    rmSync(this.path(uid), { force: true });
  }

  private path(uid: number): string {
    return join(this.folder, String(uid));
  }
}

/** Gives up the uids of a manager whose sandboxes have all ended (U1). */
export function releaseUsersOf(managerId: string, { runDir }: Pick<Settings, 'runDir'>): void {
  const folder = join(runDir, FOLDER);
  for (const name of namesIn(folder))
    if (readClaim(join(folder, name))?.split(' ')[1] === managerId) rmSync(join(folder, name), { force: true });
}

const FOLDER = 'uids';

const isRoot = (): boolean => process.getuid?.() === 0;
const groupOfAll = (): number => commandIdentity().gid;
const claimOf = ({ sandboxId, managerId }: SandboxSpec): string => `${sandboxId} ${managerId}`;

function derivedUid({ first, count }: { readonly first: number; readonly count: number }, thread: ThreadKey): number {
  const digest = createHash('sha256').update([thread.userId, thread.threadId].join('\0')).digest();
  return first + (digest.readUInt32BE(0) % count);
}

function readClaim(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
