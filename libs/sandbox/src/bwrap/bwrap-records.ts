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
 */
export class BwrapRecords {
  private readonly folder: string;

  constructor(homeDir: string) {
    this.folder = join(homeDir, 'sandboxes');
  }

  private file(sandboxId: string): string {
    return join(this.folder, `${sandboxId}.json`);
  }

  write(sandbox: SandboxSpec, mark: ProcessIdentity): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const { sandboxId, managerId, userId, threadId } = sandbox;
    const record: ProcessRecord = { sandboxId, managerId, userId, threadId, ...mark };
    writeFileSync(this.file(sandboxId), JSON.stringify(record), { mode: 0o600 });
  }

  /** Reads the record of a sandbox; null when it does not exist or a crash left only a part of it. */
  read(sandboxId: string): ProcessRecord | null {
    try {
      const parsed = ProcessRecord.safeParse(JSON.parse(readFileSync(this.file(sandboxId), 'utf8')));
      return parsed.success ? parsed.data : null;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) return null;
      throw error;
    }
  }

  /** Removes the record of a process; one that another manager has written since stays. */
  remove(sandboxId: string, pid: number): void {
    if (this.read(sandboxId)?.pid !== pid) return;
    rmSync(this.file(sandboxId), { force: true });
  }

  list(): SandboxInfo[] {
    try {
      return readdirSync(this.folder)
        .filter((name) => name.endsWith('.json'))
        .map((name) => this.read(name.slice(0, -'.json'.length)))
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
}
