import type { Config } from '@caribou/config';
import { type Logger, type RepeatedTask, type SkillsMount, systemClock } from '@caribou/core';
import { objectTreeStore, SkillCache, SkillImports, SkillViews } from '@caribou/files';
import { openObjectStore } from '@caribou/objects';
import { openSkillCatalog } from '@caribou/skills';
import { type RedisConnection, redisSkills } from '@caribou/state';
import { createSkillsMounter } from './mounted-skills.js';
import { createSkillSweeper } from './skill-sweeper.js';

export interface MachineSkills {
  /** Makes the mount at /mnt/skills for a user's sandboxes. */
  readonly mount: (userId: string) => Promise<SkillsMount>;
  /** Absent when installed skills are on a shared data volume. */
  readonly sweeper?: RepeatedTask;
}

const SWEEP_MS = 3_600_000;
/** Lists of files of skills in memory: they are read once per skill and machine. */
const TREE_CACHE_BYTES = 4 * 1024 * 1024;

/** The skills of users on this machine: with the section `files`, those that users installed come from its object store. */
export function openSkills(
  config: Config,
  { redis, logger }: { redis: RedisConnection; logger: Logger },
): MachineSkills {
  const { files, homeDir, sandbox } = config;
  const clock = systemClock;
  const store = redisSkills(redis);
  const catalog = openSkillCatalog(config, { store, clock, logger });
  const views = new SkillViews(homeDir);
  if (files === undefined) return { mount: createSkillsMounter(catalog, views) };
  const trees = objectTreeStore(openObjectStore(files.store, logger), { cacheBytes: TREE_CACHE_BYTES });
  const imports = new SkillImports({ homeDir, trees, records: store, clock, logger });
  const { minFreeBytes } = sandbox.limits;
  const cache = new SkillCache({ homeDir, trees, imports, minFreeBytes, maxWaitMs: files.maxWaitMs, clock, logger });
  return {
    mount: createSkillsMounter(catalog, views, cache),
    sweeper: createSkillSweeper({ homeDir, store, everyMs: SWEEP_MS, clock, logger }),
  };
}
