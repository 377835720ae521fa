import { join } from 'node:path';
import { AppError, ConflictError, type InstalledSkill } from '@caribou/contracts';
import { type Clock, Limiter, type Logger, type SkillStore, type TreeStore } from '@caribou/core';
import { LRUCache } from 'lru-cache';
import { isDirectory, skillDirectory } from './skill-directories.js';
import { storeSkill } from './skill-tree.js';

/** What is needed to find the record of an installed skill, and to check its files. */
export type SkillToImport = Pick<InstalledSkill, 'id' | 'name' | 'bytes'>;

export interface SkillImportOptions {
  /** CARIBOU_HOME. */
  readonly homeDir: string;
  readonly trees: Pick<TreeStore, 'store' | 'write'>;
  readonly records: Pick<SkillStore, 'setManifest'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
  /** Pause before a failed import is tried again, in milliseconds; default a minute. */
  readonly retryMs?: number;
}

const RETRY_MS = 60_000;
const MAX_REMEMBERED = 10_000;
const MAX_RUNNING = 2;
const MAX_WAITING = 100;

/**
 * Brings skills that were installed on a data volume into the object store, from a machine that has their files. They are uploaded
 * whole, and only then named by the record of the skill, in one step that fails when the skill was removed or another machine was
 * first: what was uploaded then has no reference and is removed by garbage collection.
 */
export class SkillImports {
  private readonly running = new Map<string, Promise<void>>();
  private readonly retryAtMs = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  private readonly limiter = new Limiter({
    maxRunning: MAX_RUNNING,
    maxWaiting: MAX_WAITING,
    errorWhenFull: () => new ConflictError('too many skills are waiting to be imported'),
  });

  constructor(private readonly options: SkillImportOptions) {}

  /** Begins an import in the background, unless one is running or has failed a short time ago. */
  start(userId: string, skill: SkillToImport): void {
    const key = `${userId}/${skill.id}`;
    const { clock } = this.options;
    if (this.running.has(key) || clock.monotonicMs() < (this.retryAtMs.get(key) ?? 0)) return;
    const work = this.limiter
      .run(() => this.importSkill(userId, skill))
      .catch((error: unknown) => this.report(userId, skill, error))
      .finally(() => {
        this.retryAtMs.set(key, clock.monotonicMs() + (this.options.retryMs ?? RETRY_MS));
        this.running.delete(key);
      });
    this.running.set(key, work);
  }

  /** Resolves when no import is running. */
  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running.values());
  }

  private async importSkill(userId: string, skill: SkillToImport): Promise<void> {
    const { homeDir, trees, records, logger } = this.options;
    const directory = join(skillDirectory(homeDir, userId, 'installed'), skill.id);
    if (!(await isDirectory(directory))) return;
    const { manifest, bytes } = await storeSkill(trees, userId, directory);
    if (bytes !== skill.bytes)
      throw new ConflictError(`the skill has ${bytes} bytes on the disk, and its record says ${skill.bytes}`);
    const recorded = await records.setManifest(userId, skill, manifest);
    if (recorded)
      logger.info(
        { event: 'skill.import', userId, path: directory, bytes },
        'a skill was brought into the object store',
      );
  }

  private report(userId: string, { id }: SkillToImport, error: unknown): void {
    const path = join(skillDirectory(this.options.homeDir, userId, 'installed'), id);
    const level = error instanceof AppError ? 'warn' : 'error';
    this.options.logger[level](
      { event: 'skill.import', outcome: 'error', userId, path, error },
      'a skill was not brought into the object store; it is tried again when it is next used',
    );
  }
}
