import { type Message, NotFoundError, toClientMessage } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { FeedPage, FeedQuery, FeedRow, ThreadStore } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';
import { expandText, expandTexts, type StoredText, toStoredText } from '../redis/stored-text.js';

const script = loadScript('threads/read-feed');

/** Bytes of messages after which a page ends. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Maximum number of rows read for one page, including hidden ones and those of other runs. */
const MAX_LOOKED = 5_000;

/** A row as `includes/feed.lua` writes it. */
export interface StoredRow {
  readonly id: string;
  readonly entry: number;
  readonly run?: string;
  readonly at: string;
  readonly before?: number;
  readonly hidden?: string;
}

const noThread = ({ threadId }: ThreadKey): NotFoundError =>
  new NotFoundError(`Thread ${threadId} does not exist`, { details: { threadId } });

/** @param ended '1': `readFeed` also reads temporary threads that have ended */
export function threadFeed(
  redis: RedisConnection,
  ended: '' | '1' = '',
): Pick<ThreadStore, 'readFeed' | 'findFeedRow' | 'runsOfMessages'> {
  async function readFeed(thread: ThreadKey, { before = 0, limit, runId = '' }: FeedQuery): Promise<FeedPage> {
    const { record, feed: rows, log } = redis.keys.thread(thread);
    const reply = await redis.run(
      script,
      [record, rows, log],
      [before, limit, MAX_PAGE_BYTES, MAX_LOOKED, runId, ended],
    );
    const [outcome, lowest, more, ...flat] = reply as [string, number, number, ...(number | StoredText)[]];
    if (outcome === 'no_thread') throw noThread(thread);
    return { rows: (await rowsOf(flat)).reverse(), nextBefore: more === 1 ? lowest : null };
  }

  async function findFeedRow(thread: ThreadKey, messageId: string): Promise<FeedRow | null> {
    const { record, feed: rows, log } = redis.keys.thread(thread);
    const [known, seq] = await redis.use((client) =>
      Promise.all([client.hmget(record, 'created_at', 'ended'), client.hget(rows, `i:${messageId}`)]),
    );
    if (known[0] === null || known[1] !== null) throw noThread(thread);
    if (seq === null) return null;
    const text = await redis.use((client) => client.hget(rows, seq));
    if (text === null) return null;
    const row = parseStored<StoredRow>(text);
    if (row.hidden !== undefined) return null;
    const message = await redis.use((client) => client.hgetBuffer(log, String(row.entry)));
    if (message === null) return null;
    return toFeedRow(Number(seq), row, await expandText(toStoredText(message)));
  }

  async function runsOfMessages(thread: ThreadKey, messageIds: readonly string[]): Promise<Map<string, string>> {
    const { feed: rows } = redis.keys.thread(thread);
    const fields = (names: readonly string[]): Promise<(string | null)[]> =>
      names.length === 0 ? Promise.resolve([]) : redis.use((client) => client.hmget(rows, ...names));
    const numbers = (await fields(messageIds.map((id) => `i:${id}`))).filter((number) => number !== null);
    const found = (await fields(numbers)).flatMap((text) => (text === null ? [] : [parseStored<StoredRow>(text)]));
    return new Map(found.flatMap(({ id, run }) => (run === undefined ? [] : [[id, run] as const])));
  }

  return { readFeed, findFeedRow, runsOfMessages };
}

async function rowsOf(flat: readonly (number | StoredText)[]): Promise<FeedRow[]> {
  const stored = flat.filter((_, index) => index % 3 === 2) as StoredText[];
  const messages = await expandTexts(stored);
  return messages.map((message, index) => {
    const row = parseStored<StoredRow>(String(flat[3 * index + 1]));
    return toFeedRow(Number(flat[3 * index]), row, message);
  });
}

const toFeedRow = (seq: number, row: StoredRow, message: string): FeedRow => ({
  seq,
  runId: row.run ?? null,
  createdAt: row.at,
  message: toClientMessage(parseStored<Message>(message)),
});
