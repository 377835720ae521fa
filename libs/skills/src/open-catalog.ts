import type { Config } from '@caribou/config';
import type { Clock, Logger, SkillStore } from '@caribou/core';
import { OperatorSwitches } from './operator-switches.js';
import { SHIPPED_SKILLS } from './shipped.js';
import { SkillLibrary } from './skill-library.js';
import { UserSkillCatalog } from './user-skill-catalog.js';

export interface SkillCatalogPorts {
  readonly store: Pick<SkillStore, 'read'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The catalogue of an installation: every process that has the same folder and the same file sees the same skills. */
export const openSkillCatalog = (
  { skills, extensionsConfigPath }: Pick<Config, 'skills' | 'extensionsConfigPath'>,
  { store, clock, logger }: SkillCatalogPorts,
): UserSkillCatalog =>
  new UserSkillCatalog({
    library: new SkillLibrary({ root: skills.path ?? SHIPPED_SKILLS, clock, logger }),
    operator: new OperatorSwitches(extensionsConfigPath, logger),
    store,
  });
