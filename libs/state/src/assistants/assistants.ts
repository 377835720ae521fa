import { BugError } from '@caribou/contracts';
import { z } from 'zod';
import { assertSound } from '../memory/memory-record.js';
import {
  ASSISTANT_LIMITS,
  type AssistantContent,
  type AssistantOutcome,
  type AssistantStore,
  type AssistantVersion,
  type StoredAssistant,
} from '../ports/assistant-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import type { Reply } from '../redis/thread-call.js';

const scripts = {
  write: loadScript('assistants/write-assistant'),
  setLatest: loadScript('assistants/set-latest'),
  remove: loadScript('assistants/remove-assistant'),
};

const Json = z.record(z.string(), z.unknown());
const Content = z.object({
  graph_id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  config: Json,
  context: Json,
  metadata: Json,
});

/** Assistants in Redis: a hash of their current versions and one of all versions for each user. */
export function redisAssistants(redis: RedisConnection, limits = ASSISTANT_LIMITS): AssistantStore {
  const { maxAssistants, maxVersions, maxBytes } = limits;
  const keysOf = (userId: string): string[] => Object.values<string>({ ...redis.keys.assistants(userId) });

  async function write(
    userId: string,
    id: string,
    expected: string,
    content: AssistantContent,
  ): Promise<AssistantOutcome> {
    const args = [id, expected, JSON.stringify(content), maxAssistants, maxVersions, maxBytes];
    const reply = (await redis.run(scripts.write, keysOf(userId), args)) as Reply;
    return outcomeOf(id, reply);
  }

  return {
    list: async (userId) => {
      const fields = await redis.use((client) => client.hgetall(redis.keys.assistants(userId).heads));
      return Object.keys(fields)
        .filter((field) => field.startsWith('m:'))
        .map((field) => field.slice(2))
        .map((id) => assistantOf(id, fields[`m:${id}`], fields[`c:${id}`]));
    },
    read: async (userId, id) => {
      const { heads } = redis.keys.assistants(userId);
      const [meta, content] = await redis.use((client) => client.hmget(heads, `m:${id}`, `c:${id}`));
      return meta === null ? null : assistantOf(id, meta, content);
    },
    create: (userId, id, content) => write(userId, id, '', content),
    update: (userId, { assistant_id: id, revision }, content) => write(userId, id, String(revision), content),
    setLatest: async (userId, id, version) => {
      const reply = (await redis.run(scripts.setLatest, keysOf(userId), [id, version])) as Reply;
      assertSound(reply);
      return reply[0] === 'none' ? null : assistantOf(id, reply[1], reply[2]);
    },
    versions: async (userId, id) => {
      const { heads, versions } = redis.keys.assistants(userId);
      const meta = await redis.use((client) => client.hget(heads, `m:${id}`));
      if (meta === null) return [];
      const newest = metaOf(meta).newest;
      const numbers = Array.from({ length: Math.min(maxVersions, newest) }, (_, index) => newest - index);
      const texts = await redis.use((client) => client.hmget(versions, ...numbers.map((number) => `${id}:${number}`)));
      return numbers.flatMap((version, index) => versionOf(id, version, texts[index]));
    },
    remove: async (userId, id) => {
      const reply = (await redis.run(scripts.remove, keysOf(userId), [id, maxVersions])) as Reply;
      assertSound(reply);
      return reply[1] === 1;
    },
  };
}

function metaOf(text: unknown) {
  const [revision, version, newest, created_at = '', updated_at = ''] = String(text).split(' ');
  return { revision: Number(revision), version: Number(version), newest: Number(newest), created_at, updated_at };
}

function assistantOf(assistant_id: string, meta: unknown, content: unknown): StoredAssistant {
  const { newest: _newest, ...known } = metaOf(meta);
  return { assistant_id, ...Content.parse(JSON.parse(String(content))), ...known };
}

function versionOf(assistant_id: string, version: number, text: string | null | undefined): AssistantVersion[] {
  if (text === null || text === undefined) return [];
  const border = text.indexOf(' ');
  const content = Content.parse(JSON.parse(text.slice(border + 1)));
  return [{ assistant_id, ...content, version, created_at: text.slice(0, border) }];
}

function outcomeOf(id: string, reply: Reply): AssistantOutcome {
  assertSound(reply);
  const [outcome, ...rest] = reply;
  switch (outcome) {
    case 'written':
    case 'exists':
      return { outcome, assistant: assistantOf(id, rest[0], rest[1]) };
    case 'large':
      return { outcome, bytes: Number(rest[0]) };
    case 'changed':
    case 'full':
      return { outcome };
    default:
      throw new BugError(`unknown reply of write-assistant: ${String(outcome)}`);
  }
}
