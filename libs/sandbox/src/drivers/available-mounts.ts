import { AppError, type SandboxDriverKind, UnavailableError } from '@caribou/contracts';
import type { DataMounts, SkillsMount } from '@caribou/core';
import { SandboxGoneError, type SandboxSpec } from './driver.js';
import type { SandboxSettings } from './settings.js';

/** Returns host paths of the thread's data directories. @throws {UnavailableError} when they do not exist */
export async function dataMounts(
  { mounts }: SandboxSettings,
  sandbox: SandboxSpec,
  dependency: SandboxDriverKind,
): Promise<DataMounts> {
  try {
    return await mounts.dataOf(sandbox);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new UnavailableError('the directories of the thread do not exist', {
      cause: error,
      details: { dependency },
    });
  }
}

/** The skills of the sandbox's user; undefined where sandboxes have none. @throws {UnavailableError} */
export async function skillsMount(
  { mounts }: SandboxSettings,
  { userId }: SandboxSpec,
): Promise<SkillsMount | undefined> {
  try {
    return await mounts.skillsOf(userId);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new UnavailableError(error.message, { cause: error, details: error.details });
  }
}

/**
 * Awaits a step before the start of a command. @throws {SandboxGoneError} instead of an UnavailableError, as nothing
 * ran
 */
export async function beforeStart<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    throw new SandboxGoneError(error.message, { cause: error, details: error.details });
  }
}
