import { BugError, InstalledSkill, SkillName } from '@caribou/contracts';
import type { SkillStore, UserSkills } from '@caribou/core';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';

const scripts = {
  add: loadScript('users/add-skill'),
  remove: loadScript('users/remove-skill'),
  replace: loadScript('users/replace-skill'),
};

const recordOf = (text: string): InstalledSkill => InstalledSkill.parse(JSON.parse(text));

const outcomes = ['added', 'taken', 'full'] as const;

/** The skills that users switched and installed: a hash per user. */
export function redisSkills(redis: RedisConnection): SkillStore {
  const keyOf = (userId: string): string => redis.keys.skills(userId);
  const read: SkillStore['read'] = async (userId) =>
    userSkills(await redis.use((client) => client.hgetall(keyOf(userId))));
  return {
    read,
    switchTo: async (userId, name, enabled) => {
      await redis.use((client) => client.hset(keyOf(userId), `e:${SkillName.parse(name)}`, enabled ? '1' : '0'));
    },
    add: async (userId, skill, { maxInstalled, maxBytes }) => {
      const args = [skill.name, JSON.stringify(skill), skill.bytes, maxInstalled, maxBytes];
      const reply = await redis.run(scripts.add, [keyOf(userId)], args);
      const outcome = outcomes.find((one) => one === reply);
      if (outcome === undefined) throw new BugError(`unknown reply of add-skill: ${String(reply)}`);
      return outcome;
    },
    remove: async (userId, name) => {
      const text = await redis.run(scripts.remove, [keyOf(userId)], [name]);
      return typeof text === 'string' ? recordOf(text) : null;
    },
    setManifest: async (userId, { id, name }, manifest) => {
      const key = keyOf(userId);
      const text = await redis.use((client) => client.hget(key, `c:${SkillName.parse(name)}`));
      if (text === null) return false;
      const record = recordOf(text);
      if (record.id !== id || record.manifest !== undefined) return false;
      const replaced = JSON.stringify(InstalledSkill.parse({ ...record, manifest }));
      return (await redis.run(scripts.replace, [key], [name, text, replaced])) === 1;
    },
    manifestsOf: async (userId) =>
      (await read(userId)).installed.flatMap(({ manifest }) => (manifest === undefined ? [] : [manifest])),
  };
}

/** One object, so that what is derived from it is derived once for all users who have none. */
const NO_SKILLS: UserSkills = { states: new Map(), installed: [] };

function userSkills(fields: Readonly<Record<string, string>>): UserSkills {
  const entries = Object.entries(fields);
  if (entries.length === 0) return NO_SKILLS;
  return {
    states: new Map(entries.flatMap(([key, value]) => (key.startsWith('e:') ? [[key.slice(2), value === '1']] : []))),
    installed: entries.flatMap(([key, value]) => (key.startsWith('c:') ? [recordOf(value)] : [])),
  };
}
