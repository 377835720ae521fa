import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UnavailableError } from '@caribou/contracts';
import { errnoOf, type Logger, type VolumeRegistry } from '@caribou/core';
import { prepareHome } from './data-home.js';

const FILE = 'volume-id';
const OWNER_ONLY = 0o600;
/** `details.dependency` of the error about another volume. */
const VOLUME = 'volume';

/** The id of the volume that CARIBOU_HOME lies on, from a file that the first process creates. */
export function volumeIdOf(homeDir: string): string {
  const path = join(homeDir, FILE);
  if (!existsSync(path)) {
    prepareHome(homeDir);
    const draft = `${path}.${randomUUID()}`;
    writeFileSync(draft, `${randomUUID()}\n`, { mode: OWNER_ONLY });
    try {
      linkSync(draft, path);
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }
  return readFileSync(path, 'utf8').trim();
}

/**
 * Refuses to work on another volume than the other processes: files of threads would be missing there, and files
 * written there would be missing elsewhere. All machines mount one volume at CARIBOU_HOME.
 */
export class SharedVolume {
  private isAgreed = false;

  constructor(
    private readonly registry: VolumeRegistry,
    private readonly homeDir: string,
  ) {}

  /**
   * Resolves when CARIBOU_HOME is the volume that is in use. Makes it if it is missing.
   *
   * @throws {UnavailableError} when it is another one, or the registry is away
   */
  async ensure(): Promise<void> {
    if (this.isAgreed) return;
    const own = volumeIdOf(this.homeDir);
    const used = await this.registry.agree(own);
    if (used !== own) throw otherVolume(own, used);
    this.isAgreed = true;
  }

  /** As `ensure`, for a home that exists. */
  async ensureIfPresent(): Promise<void> {
    if (existsSync(this.homeDir)) await this.ensure();
  }

  /**
   * For the start of a service: a registry that is away is waited for later.
   *
   * @throws {UnavailableError} when CARIBOU_HOME is another volume than the one in use
   */
  async checkAtStart(logger: Logger): Promise<void> {
    try {
      await this.ensureIfPresent();
    } catch (error) {
      if (!(error instanceof UnavailableError) || error.details['dependency'] === VOLUME) throw error;
      logger.warn({ event: 'volume.check', reason: error.message }, 'the data volume is checked later');
    }
  }
}

const otherVolume = (own: string, used: string): UnavailableError =>
  new UnavailableError(
    `CARIBOU_HOME is the volume ${own}, but the files of threads lie on ${used}: mount one volume on all machines ` +
      '(docs/scaling.md says how to move files to another one)',
    { details: { dependency: VOLUME } },
  );
