import { join } from 'node:path';
import { AppError, UnavailableError } from '@caribou/contracts';
import { type Clock, Limiter, type Logger, type TreeStore } from '@caribou/core';
import { LRUCache } from 'lru-cache';
import { FileRefusedError } from '../file-refused.js';
import { fetchFiles } from '../plane/copies/fetch-files.js';
import { isDirectory, skillDirectory } from './skill-directories.js';
import type { SkillImports } from './skill-imports.js';
import { StagingDirectory } from './skill-staging.js';
import { filesOfSkill, isProgram, segmentsOf, type StoredSkill } from './skill-tree.js';
import type { SkillAbsence, SkillPackage } from './skill-views.js';

/** A skill of a user, as the catalog has it. */
export interface CatalogPackage {
  readonly skill: { readonly name: string };
  /** Names of its directory below the mount. */
  readonly place: readonly string[];
  readonly source:
    | { readonly kind: 'folder'; readonly directory: string; readonly fingerprint: string }
    | { readonly kind: 'installed'; readonly id: string; readonly bytes: number; readonly manifest?: string };
}

export interface SkillCacheOptions {
  /** CARIBOU_HOME. */
  readonly homeDir: string;
  readonly trees: TreeStore;
  readonly imports: Pick<SkillImports, 'start'>;
  /** With less than this on the disk nothing is fetched, in bytes. */
  readonly minFreeBytes: number;
  /** How long a sandbox waits for a skill that is being fetched, counted from the begin of the fetch, in milliseconds. */
  readonly maxWaitMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Pause before a failed fetch is tried again, in milliseconds; default 5 s. */
  readonly retryMs?: number;
}

const RETRY_MS = 5_000;
const MAX_REMEMBERED = 10_000;
/** Fetches of this process at the same time; each has a few requests under way. */
const MAX_RUNNING = 4;
const MAX_WAITING = 1_000;

interface Fetch {
  readonly startedMs: number;
  /** Why the files are not here; undefined when they are. Never rejects. */
  readonly done: Promise<SkillAbsence | undefined>;
}

interface Failure {
  readonly absence: SkillAbsence;
  readonly retryAtMs: number;
}

/**
 * Copies of installed skills on this machine's disk, whose files are in an object store.
 *
 *  K1  A copy appears whole, by one rename, after every file had its checksum. It never changes, so processes of a machine that
 *      fetch the same skill do not disturb each other: the copy of one of them stays.
 *  K2  A skill that cannot be fetched is missing by itself: all others of the user are there, and it is tried again with a later use.
 *  K3  What a process that died has left in `staging`, and copies of skills that are gone, are removed by `sweepSkills`.
 */
export class SkillCache {
  private readonly fetching = new Map<string, Fetch>();
  private readonly failures = new LRUCache<string, Failure>({ max: MAX_REMEMBERED });
  private readonly limiter = new Limiter({
    maxRunning: MAX_RUNNING,
    maxWaiting: MAX_WAITING,
    errorWhenFull: () => new UnavailableError('too many skills are waiting to be fetched'),
  });

  constructor(private readonly options: SkillCacheOptions) {}

  /**
   * The packages to be mounted. Fetches what is not on this machine; a skill that cannot be had now is replaced by a note that says
   * why. Never rejects.
   */
  provide(userId: string, packages: readonly CatalogPackage[]): Promise<readonly SkillPackage[]> {
    return Promise.all(packages.map((one) => this.provideOne(userId, one)));
  }

  private async provideOne(userId: string, { skill, place, source }: CatalogPackage): Promise<SkillPackage> {
    if (source.kind === 'folder') return { place, source };
    const { id, bytes, manifest } = source;
    try {
      if (await this.has(userId, 'installed', id)) {
        if (manifest === undefined) this.options.imports.start(userId, { id, bytes, name: skill.name });
        return { place, source: { kind: 'installed', id } };
      }
      const absence = manifest === undefined ? 'not_imported' : await this.absenceOf(userId, id, { manifest, bytes });
      return { place, source: absence === undefined ? { kind: 'fetched', id } : { kind: 'absent', id, absence } };
    } catch (error) {
      return { place, source: { kind: 'absent', id, absence: this.report(userId, id, error) } };
    }
  }

  private has(userId: string, kind: 'installed' | 'fetched', id: string): Promise<boolean> {
    return isDirectory(join(skillDirectory(this.options.homeDir, userId, kind), id));
  }

  /** Fetches the skill unless it is here. Undefined when it is then. */
  private async absenceOf(userId: string, id: string, stored: StoredSkill): Promise<SkillAbsence | undefined> {
    if (await this.has(userId, 'fetched', id)) return undefined;
    const key = `${userId}/${id}`;
    const nowMs = this.options.clock.monotonicMs();
    const failed = this.failures.get(key);
    if (failed !== undefined && nowMs < failed.retryAtMs) return failed.absence;
    const fetch = this.fetching.get(key) ?? { startedMs: nowMs, done: this.fetch(userId, id, stored) };
    this.fetching.set(key, fetch);
    return this.wait(fetch);
  }

  /** Waits for a fetch, no longer than a sandbox may; the fetch itself continues. */
  private async wait({ startedMs, done }: Fetch): Promise<SkillAbsence | undefined> {
    const { clock, maxWaitMs } = this.options;
    const waiting = new AbortController();
    const leftMs = Math.max(0, startedMs + maxWaitMs - clock.monotonicMs());
    const late = clock.sleep(leftMs, waiting.signal).then(
      () => 'away' as const,
      () => 'away' as const,
    );
    try {
      return await Promise.race([done, late]);
    } finally {
      waiting.abort();
    }
  }

  private async fetch(userId: string, id: string, stored: StoredSkill): Promise<SkillAbsence | undefined> {
    const key = `${userId}/${id}`;
    const { clock, retryMs = RETRY_MS } = this.options;
    try {
      await this.limiter.run(() => this.copy(userId, id, stored));
      this.failures.delete(key);
      return undefined;
    } catch (error) {
      const absence = this.report(userId, id, error);
      this.failures.set(key, { absence, retryAtMs: clock.monotonicMs() + retryMs });
      return absence;
    } finally {
      this.fetching.delete(key);
    }
  }

  /** Logs why a skill is not on this machine. */
  private report(userId: string, id: string, error: unknown): SkillAbsence {
    const reason = absenceBy(error);
    const path = join(skillDirectory(this.options.homeDir, userId, 'fetched'), id);
    const level = error instanceof AppError ? 'warn' : 'error';
    this.options.logger[level](
      { event: 'skill.fetch', outcome: 'error', userId, path, reason, error },
      'the files of a skill cannot be fetched; sandboxes are without it until they can',
    );
    return reason;
  }

  private async copy(userId: string, id: string, stored: StoredSkill): Promise<void> {
    const { homeDir, trees, minFreeBytes } = this.options;
    const files = filesOfSkill(await trees.read(userId, { work: stored.manifest }, 'work'), stored);
    const staging = await StagingDirectory.open(homeDir, userId, minFreeBytes);
    try {
      await fetchFiles(trees, files, {
        take: async (path, node, bytes) => {
          const content = bytes instanceof Uint8Array ? [bytes] : bytes;
          await staging.write(segmentsOf(path), content, { isProgram: isProgram(node), isSynced: true });
        },
      });
      await staging.moveTo('fetched', id);
    } finally {
      await staging.close();
    }
  }
}

/** What an error says about stored objects that are damaged, see `damaged`. */
const DAMAGES: ReadonlySet<unknown> = new Set(['missing', 'cut', 'altered', 'too_large', 'unknown_version']);

function absenceBy(error: unknown): SkillAbsence {
  if (error instanceof FileRefusedError && error.reason === 'no_space') return 'no_space';
  if (error instanceof UnavailableError && DAMAGES.has(error.details['reason'])) return 'damaged';
  return 'away';
}
