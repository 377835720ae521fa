import type { SkillsMount } from '@caribou/core';
import type { SkillViews } from '@caribou/files';
import type { UserSkillCatalog } from '@caribou/skills';

/** What the sandboxes of a user have at /mnt/skills: the skills that are switched on when it is asked for. */
export const mountedSkills =
  (
    catalog: Pick<UserSkillCatalog, 'located'>,
    views: Pick<SkillViews, 'mount'>,
  ): ((userId: string) => Promise<SkillsMount>) =>
  async (userId) => {
    const enabled = (await catalog.located(userId)).filter(({ skill }) => skill.enabled);
    return views.mount(userId, enabled);
  };
