import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errnoOf } from '@caribou/core';
import type { ProcessIdentity } from './bwrap-host.js';
import type { SandboxInfo, SandboxSpec } from '../drivers/driver.js';
import { groupMembers } from './process-group.js';

const ProcessRecord = z.object({
  sandboxId: z.string(),
  managerId: z.string(),
  userId: z.string(),
  threadId: z.string(),
  pid: z.number().int().positive(),
  startTicks: z.string(),
});
export type ProcessRecord = z.infer<typeof ProcessRecord>;

/** A process start: pid and start time together are never used again. */
export const instanceOf = ({ pid, startTicks }: ProcessIdentity): string => `${pid}:${startTicks}`;

/**
 * One file per sandbox while a command runs in it, so that another manager of this machine can end what a manager that
 * is paused, or was killed in the wrong moment, left running. The folder is the platform's own; no sandbox sees it.
 * Earlier versions wrote them into CARIBOU_HOME: those are read and removed too, so that what a manager of such a
 * version left is ended.
 */
export class BwrapRecords {
  private readonly folder: string;
  private readonly folders: readonly string[];

  constructor({ runDir, homeDir }: { readonly runDir: string; readonly homeDir: string }) {
    this.folder = join(runDir, FOLDER);
    this.folders = [this.folder, join(homeDir, FOLDER)];
  }

  write(sandbox: SandboxSpec, mark: ProcessIdentity): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const { sandboxId, managerId, userId, threadId } = sandbox;
    const record: ProcessRecord = { sandboxId, managerId, userId, threadId, ...mark };
    writeFileSync(join(this.folder, fileOf(sandboxId)), JSON.stringify(record), { mode: 0o600 });
  }

  /** The records of a sandbox: at most one of this version and one of an earlier one. */
  read(sandboxId: string): readonly ProcessRecord[] {
    return this.folders
      .map((folder) => readRecord(join(folder, fileOf(sandboxId))))
      .filter((record) => record !== null);
  }

  /** Removes the record of a process; one that another manager has written since stays. */
  remove(sandboxId: string, pid: number): void {
    for (const folder of this.folders) {
      const path = join(folder, fileOf(sandboxId));
      if (readRecord(path)?.pid === pid) rmSync(path, { force: true });
    }
  }

  list(): SandboxInfo[] {
    return this.folders.flatMap(listFolder);
  }
}

const FOLDER = 'sandboxes';
const SUFFIX = '.json';
const fileOf = (sandboxId: string): string => `${sandboxId}${SUFFIX}`;

/** Reads a record; null when it does not exist or a crash left only a part of it. */
function readRecord(path: string): ProcessRecord | null {
  try {
    const parsed = ProcessRecord.safeParse(JSON.parse(readFileSync(path, 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) return null;
    throw error;
  }
}

function listFolder(folder: string): SandboxInfo[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(SUFFIX))
      .map((name) => readRecord(join(folder, name)))
      .filter((record) => record !== null)
      .map(({ sandboxId, managerId, userId, threadId, pid, startTicks }) => ({
        sandboxId,
        managerId,
        userId,
        threadId,
        running: groupMembers({ pid, startTicks }).length > 0,
        instance: instanceOf({ pid, startTicks }),
      }));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
