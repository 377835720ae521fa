import { ForbiddenError, NotFoundError, type SkillReply } from '@caribou/contracts';
import type { Skill, SkillCatalog, SkillStore } from '@caribou/core';
import type { SkillFiles } from '@caribou/files';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';

const MAX_SHOWN = 100;

const replyOf = ({ name, description, license, category, enabled, editable }: Skill): SkillReply => ({
  name,
  description,
  license,
  category,
  enabled,
  editable,
});

/** The skills of the caller. Changes apply to the caller only. */
@Injectable()
export class SkillsService {
  constructor(
    @Dependency('skillCatalog') private readonly catalog: SkillCatalog,
    @Dependency('skillStore') private readonly store: SkillStore,
    @Dependency('skillFiles') private readonly files: SkillFiles,
  ) {}

  /** The list is also the occasion to bring skills of an earlier data volume into the object store. */
  async list(userId: string): Promise<SkillReply[]> {
    if (this.files.importSkills !== undefined)
      this.files.importSkills(userId, (await this.store.read(userId)).installed);
    return (await this.catalog.skillsOf(userId)).map(replyOf);
  }

  /** @throws {NotFoundError} */
  async get(userId: string, name: string): Promise<SkillReply> {
    return replyOf(await this.find(userId, name));
  }

  /** @throws {NotFoundError} */
  async switchTo(userId: string, name: string, enabled: boolean): Promise<SkillReply> {
    const skill = await this.find(userId, name);
    await this.store.switchTo(userId, skill.name, enabled);
    return this.get(userId, skill.name);
  }

  /**
   * Removes the record before the files. Files that remain when this process dies are removed by a later install.
   *
   * @throws {NotFoundError}
   * @throws {ForbiddenError} for a skill that the caller did not install
   */
  async remove(userId: string, name: string): Promise<{ success: true; message: string }> {
    const skill = await this.find(userId, name);
    if (!skill.editable)
      throw new ForbiddenError(`Skill '${skill.name}' is not yours to delete; switch it off instead`);
    const removed = await this.store.remove(userId, skill.name);
    if (removed !== null) await this.files.remove(userId, removed.id);
    return { success: true, message: `Skill '${skill.name}' deleted` };
  }

  private async find(userId: string, name: string): Promise<Skill> {
    const skill = (await this.catalog.skillsOf(userId)).find((one) => one.name === name);
    if (skill === undefined) throw new NotFoundError(`Skill '${name.slice(0, MAX_SHOWN)}' not found`);
    return skill;
  }
}
