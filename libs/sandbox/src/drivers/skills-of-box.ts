import { AppError } from '@caribou/contracts';
import { BoxGoneError, type BoxSpec } from './driver.js';
import type { SandboxSettings } from './settings.js';
import type { SkillsMount } from '../files/skills-mount.js';

/**
 * What is to be mounted into a box before its next command; undefined where boxes have no skills.
 *
 * @throws {BoxGoneError} when it cannot be had: nothing ran
 */
export async function skillsOf({ skills }: SandboxSettings, { userId }: BoxSpec): Promise<SkillsMount | undefined> {
  try {
    return await skills?.(userId);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new BoxGoneError(error.message, { cause: error, details: error.details });
  }
}
