import type { SkillsMount } from '@caribou/core';
import type { SkillViews } from '@caribou/files';
import type { UserSkillCatalog } from '@caribou/skills';

/** Creates the function that makes the mount at /mnt/skills for a user's sandboxes: the skills that are enabled then. */
export const createSkillsMounter =
  (
    catalog: Pick<UserSkillCatalog, 'listLocated'>,
    views: Pick<SkillViews, 'mount'>,
  ): ((userId: string) => Promise<SkillsMount>) =>
  async (userId) => {
    const enabled = (await catalog.listLocated(userId)).filter(({ skill }) => skill.enabled);
    return views.mount(userId, enabled);
  };
