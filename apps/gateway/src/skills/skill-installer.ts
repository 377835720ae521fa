import {
  BadRequestError,
  ConflictError,
  DeadlineError,
  ForbiddenError,
  newId,
  NotFoundError,
  RateLimitedError,
  type SkillInstallReply,
  TooLargeError,
} from '@caribou/contracts';
import type { OpenFile, SkillCatalog, SkillLimits, SkillStore, ThreadKey } from '@caribou/core';
import type { SkillFiles, SkillStaging, UserFiles } from '@caribou/files';
import { SkillRejectedError, type UnpackedSkill, unpackSkill } from '@caribou/skills';
import { Injectable } from '@nestjs/common';
import { artifactPath } from '../files/artifacts/artifact-path.js';
import { mapFileRefusals } from '../http/file-answer.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

/** Concurrent installs of one gateway: each may unpack half a gigabyte. */
const MAX_AT_ONCE = 4;
const TIMEOUT_MS = 60_000;

/**
 * Installs skills from archives among the files of threads, or in the body of a request.
 *
 *  S1  Nothing of an archive is visible before all of it is unpacked and checked.
 *  S2  A skill exists when its record does. Its files are moved to their final directory before, under an id that is
 *      never used again; or they are put into the object store, under keys that the record names.
 *  S3  Files that an interrupted install leaves are removed by a later install of the same user, objects by garbage collection.
 */
@Injectable()
export class SkillInstaller {
  private running = 0;

  constructor(
    @Dependency('userFiles') private readonly userFiles: UserFiles,
    @Dependency('skillFiles') private readonly files: SkillFiles,
    @Dependency('skillStore') private readonly store: SkillStore,
    @Dependency('skillCatalog') private readonly catalog: SkillCatalog,
    @Dependency('settings') private readonly settings: GatewaySettings,
  ) {}

  /**
   * Repeated with the same files, it answers as the first time and changes nothing: the first answer may have been lost.
   *
   * @throws {ForbiddenError} for a path outside the thread's files, or of something other than a regular file
   * @throws {BadRequestError} for a path that does not end in `.skill`, and for a malformed archive
   * @throws {NotFoundError} when there is no such file
   * @throws {ConflictError} when there is a skill with this name and other files
   * @throws {TooLargeError} when the user has too many skills, or the disk is full
   * @throws {UnavailableError} when Redis or the object store is away: nothing is installed
   */
  install(thread: ThreadKey, path: string): Promise<SkillInstallReply> {
    return this.whenFree(() => this.installFrom(thread, path));
  }

  /**
   * Installs an archive that was received; the caller closes it.
   *
   * @throws the same errors as `install`, but those of paths
   */
  installArchive(userId: string, archive: OpenFile): Promise<SkillInstallReply> {
    return this.whenFree(async () => {
      await this.removeLeftovers(userId);
      return await this.unpackAndPublish(userId, archive);
    });
  }

  private async whenFree(install: () => Promise<string>): Promise<SkillInstallReply> {
    if (this.running >= MAX_AT_ONCE) throw new RateLimitedError('too many skills are being installed');
    this.running += 1;
    try {
      const name = await install();
      return { success: true, skill_name: name, message: `Skill '${name}' installed successfully` };
    } finally {
      this.running -= 1;
    }
  }

  private async installFrom(thread: ThreadKey, given: string): Promise<string> {
    const path = pathOf(given);
    const archive = await this.openArchive(thread, path);
    try {
      if (!path.toLowerCase().endsWith('.skill')) throw new BadRequestError('File must have .skill extension');
      const { userId } = thread;
      await this.removeLeftovers(userId);
      return await this.unpackAndPublish(userId, archive);
    } finally {
      await archive.close();
    }
  }

  private async unpackAndPublish(userId: string, archive: OpenFile): Promise<string> {
    const staging = await this.files.openStaging(userId);
    try {
      return await this.publish(userId, archive, staging);
    } finally {
      await staging.close();
    }
  }

  private async openArchive(thread: ThreadKey, path: string): Promise<OpenFile> {
    try {
      return await mapFileRefusals(path, () => this.userFiles.open(thread, path));
    } catch (error) {
      if (error instanceof NotFoundError) throw new NotFoundError(`Skill file not found: ${path}`, { cause: error });
      throw error;
    }
  }

  private async publish(userId: string, archive: OpenFile, staging: SkillStaging): Promise<string> {
    const skill = await unpack(archive, staging);
    const { name, contentSha256 } = skill;
    const isTaken = (await this.catalog.skillsOf(userId)).some((one) => one.name === name);
    const outcome = isTaken ? 'taken' : await this.add(userId, skill, staging);
    if (outcome === 'full') throw createQuotaError(this.settings.skills);
    if (outcome === 'taken' && !(await this.isInstalled(userId, name, contentSha256))) throw createNameTakenError(name);
    return name;
  }

  private async add(userId: string, skill: UnpackedSkill, staging: SkillStaging) {
    const { name, description, license, allowedTools, bytes, contentSha256 } = skill;
    const id = newId();
    const published = await staging.publish(id);
    const record = {
      id,
      name,
      description,
      license,
      bytes,
      content_sha256: contentSha256,
      installed_at: new Date().toISOString(),
      allowed_tools: allowedTools === null ? null : [...allowedTools],
      ...published,
    };
    const outcome = await this.store.add(userId, record, this.settings.skills);
    if (outcome !== 'added') await this.files.remove(userId, id);
    return outcome;
  }

  private async isInstalled(userId: string, name: string, contentSha256: string): Promise<boolean> {
    const { installed } = await this.store.read(userId);
    return installed.some((skill) => skill.name === name && skill.content_sha256 === contentSha256);
  }

  private async removeLeftovers(userId: string): Promise<void> {
    const { installed } = await this.store.read(userId);
    await this.files.removeLeft(userId, new Set(installed.map(({ id }) => id)));
  }
}

/** The virtual path; the given one may lack the leading slash. @throws {ForbiddenError} {BadRequestError} */
function pathOf(given: string): string {
  try {
    return artifactPath(given);
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    throw new ForbiddenError('Access denied: the path leaves the files of the thread', { cause: error });
  }
}

async function unpack(archive: OpenFile, staging: SkillStaging): Promise<UnpackedSkill> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    return await mapFileRefusals('the skill', () => unpackSkill(archive, staging, signal));
  } catch (error) {
    if (error instanceof SkillRejectedError) throw new BadRequestError(error.message, { cause: error });
    if (signal.aborted)
      throw new DeadlineError(`unpacking took longer than ${TIMEOUT_MS / 1_000} seconds`, {
        cause: error,
        details: { afterMs: TIMEOUT_MS },
      });
    throw error;
  }
}

const createNameTakenError = (name: string): ConflictError => new ConflictError(`Skill '${name}' already exists`);

const createQuotaError = ({ maxInstalled, maxBytes }: SkillLimits): TooLargeError =>
  new TooLargeError(`a user may have ${maxInstalled} skills with ${maxBytes} bytes in all`);
