import { InvalidRequestError } from '@caribou/contracts';
import type { SetQuery } from '../ports/cron-store.js';
import type { RedisConnection } from '../redis/connection.js';

export interface SetMember {
  readonly member: string;
  readonly score: number;
}

export interface SetPage {
  readonly members: readonly SetMember[];
  readonly nextCursor: string | null;
}

/** Maximum number of members that one page passes over: those of the cursor's score before its member. */
const MAX_PASSED = 10_000;

export const setCursor = ({ member, score }: SetMember): string => `${score}:${member}`;

/**
 * Reads members of a sorted set by score, those of equal scores by name. What is added or removed between two pages moves no
 * other member to another page.
 *
 * @throws {InvalidRequestError} for an invalid cursor
 */
export async function readSetPage(redis: RedisConnection, key: string, query: SetQuery): Promise<SetPage> {
  const after = parseCursor(query.cursor);
  const found: SetMember[] = [];
  const batch = query.limit + 1;
  for (let offset = 0; offset < MAX_PASSED && found.length < batch; offset += batch) {
    const flat = await redis.use((client) =>
      client.zrangebyscore(key, after?.score ?? '-inf', '+inf', 'WITHSCORES', 'LIMIT', offset, batch),
    );
    found.push(...membersOf(flat).filter((one) => after === undefined || isBehind(one, after)));
    if (flat.length < 2 * batch) break;
  }
  const members = found.slice(0, query.limit);
  const last = members.at(-1);
  return { members, nextCursor: found.length > members.length && last !== undefined ? setCursor(last) : null };
}

function parseCursor(cursor: string | undefined): SetMember | undefined {
  if (cursor === undefined) return undefined;
  const [, score, member] = /^(\d{1,16}(?:\.\d{1,6})?):(.{1,200})$/.exec(cursor) ?? [];
  if (score === undefined || member === undefined)
    throw new InvalidRequestError('cursor: must be next_cursor of the page before', { details: { field: 'cursor' } });
  return { score: Number(score), member };
}

/** As Redis orders them; ids are ASCII. */
const isBehind = (one: SetMember, other: SetMember): boolean =>
  one.score === other.score ? one.member > other.member : one.score > other.score;

const membersOf = (flat: readonly string[]): SetMember[] =>
  flat.flatMap((member, index) => (index % 2 === 0 ? [{ member, score: Number(flat[index + 1]) }] : []));
