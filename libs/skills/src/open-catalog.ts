import { type Config, EXTENSIONS_MAX_AGE_MS } from '@caribou/config';
import { type Clock, type Logger, shareRecentResult, type SkillStore } from '@caribou/core';
import { OperatorSwitches } from './operator-switches.js';
import { BUILT_IN_SKILLS } from './built-in-skills.js';
import { SkillLibrary } from './skill-library.js';
import { UserSkillCatalog } from './user-skill-catalog.js';

export interface SkillCatalogPorts {
  readonly store: Pick<SkillStore, 'read'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the catalog of skills; processes with the same folder and the same file have the same catalog. */
export const openSkillCatalog = (
  { skills, extensionsConfigPath }: Pick<Config, 'skills' | 'extensionsConfigPath'>,
  { store, clock, logger }: SkillCatalogPorts,
): UserSkillCatalog => {
  const switches = new OperatorSwitches(extensionsConfigPath, logger);
  return new UserSkillCatalog({
    library: new SkillLibrary({ root: skills.path ?? BUILT_IN_SKILLS, clock, logger }),
    operator: { read: shareRecentResult(() => switches.read(), { maxAgeMs: EXTENSIONS_MAX_AGE_MS, clock }) },
    store,
  });
};
