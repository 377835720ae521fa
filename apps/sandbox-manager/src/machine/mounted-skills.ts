import type { SkillsMount } from '@caribou/core';
import type { SkillCache, SkillViews } from '@caribou/files';
import type { UserSkillCatalog } from '@caribou/skills';

/**
 * Creates the function that makes the mount at /mnt/skills for a user's sandboxes: the skills that are enabled then.
 *
 * @param cache brings the files of installed skills to this machine; undefined when they are on a shared data volume
 */
export const createSkillsMounter =
  (
    catalog: Pick<UserSkillCatalog, 'listLocated'>,
    views: Pick<SkillViews, 'mount'>,
    cache?: Pick<SkillCache, 'provide'>,
  ): ((userId: string) => Promise<SkillsMount>) =>
  async (userId) => {
    const enabled = (await catalog.listLocated(userId)).filter(({ skill }) => skill.enabled);
    return views.mount(userId, cache === undefined ? enabled : await cache.provide(userId, enabled));
  };
