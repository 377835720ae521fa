import type { AgentStore, StoredAgent } from '@caribou/core';

/** Custom agents that stay in memory, without bounds. */
export function memoryAgents(): AgentStore {
  const agents = new Map<string, StoredAgent>();
  const calls = new Map<string, readonly string[]>();
  const profiles = new Map<string, string>();
  let clock = 0;
  return {
    list: (userId) =>
      Promise.resolve(
        [...agents].flatMap(([key, agent]) => (key.startsWith(`${userId}/`) ? [{ ...agent, soul: '' }] : [])),
      ),
    read: (userId, name) => Promise.resolve(agents.get(`${userId}/${name}`) ?? null),
    write: (userId, { agent, madeIn, expected, call }) => {
      const key = `${userId}/${agent.name}`;
      const before = agents.get(key);
      const known = calls.get(key) ?? [];
      if (call !== undefined && known.includes(call))
        return Promise.resolve(before === undefined ? { outcome: 'removed' } : { outcome: 'repeated', agent: before });
      if ((before?.version ?? 0) !== expected) return Promise.resolve({ outcome: 'changed' });
      clock += 1;
      const at = new Date(clock).toISOString();
      const after = { ...agent, made_in: madeIn, version: clock, created_at: before?.created_at ?? at, updated_at: at };
      agents.set(key, after);
      if (call !== undefined) calls.set(key, [...known, call]);
      return Promise.resolve({ outcome: 'written', agent: after });
    },
    remove: (userId, name) => Promise.resolve(agents.delete(`${userId}/${name}`)),
    profile: (userId) => Promise.resolve(profiles.get(userId) ?? ''),
    writeProfile: (userId, content) => Promise.resolve(void profiles.set(userId, content)),
  };
}
