import { type Message, NotFoundError, toClientMessage } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { FeedPage, FeedQuery, FeedRow, ThreadStore } from '../ports/thread-store.js';
import type { RedisConnection } from '../redis/connection.js';
import { loadScript } from '../redis/scripts.js';
import { parseStored } from '../redis/stored-json.js';
import { expandTexts, type StoredText } from '../redis/stored-text.js';
import { type ParsedRow, parseRow } from './feed-rows.js';

const script = loadScript('threads/read-feed');

/** Bytes of messages after which a page ends. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Maximum number of rows read for one page, including hidden ones and those of other runs. */
const MAX_LOOKED = 5_000;

const noThread = ({ threadId }: ThreadKey): NotFoundError =>
  new NotFoundError(`Thread ${threadId} does not exist`, { details: { threadId } });

interface RowRange extends Required<Pick<FeedQuery, 'before' | 'limit' | 'runId'>> {
  /** The most rows to read, including those that are not wanted. */
  readonly maxScanned: number;
}

/** @param ended '1': `readFeed` also reads temporary threads that have ended */
export function threadFeed(
  redis: RedisConnection,
  ended: '' | '1' = '',
): Pick<ThreadStore, 'readFeed' | 'findFeedRow' | 'runsOfMessages'> {
  async function readRows(thread: ThreadKey, range: RowRange): Promise<FeedPage> {
    const { record, feed: rows, log } = redis.keys.thread(thread);
    const { before, limit, maxScanned, runId } = range;
    const args = [before, limit, MAX_PAGE_BYTES, maxScanned, runId, ended];
    const reply = await redis.run(script, [record, rows, log], args);
    const [outcome, lowest, more, ...flat] = reply as [string, number, number, ...(number | StoredText)[]];
    if (outcome === 'no_thread') throw noThread(thread);
    return { rows: (await rowsOf(flat)).reverse(), nextBefore: more === 1 ? lowest : null };
  }

  const readFeed = (thread: ThreadKey, { before = 0, limit, runId = '' }: FeedQuery): Promise<FeedPage> =>
    readRows(thread, { before, limit, runId, maxScanned: MAX_LOOKED });

  async function findFeedRow(thread: ThreadKey, messageId: string): Promise<FeedRow | null> {
    const { record, feed: rows } = redis.keys.thread(thread);
    const [known, number] = await redis.use((client) =>
      Promise.all([client.hmget(record, 'created_at', 'ended'), client.hget(rows, `i:${messageId}`)]),
    );
    if (known[0] === null || known[1] !== null) throw noThread(thread);
    if (number === null) return null;
    const page = await readRows(thread, { before: Number(number) + 1, limit: 1, runId: '', maxScanned: 1 });
    return page.rows[0] ?? null;
  }

  async function runsOfMessages(thread: ThreadKey, messageIds: readonly string[]): Promise<Map<string, string>> {
    const { feed } = redis.keys.thread(thread);
    const fields = (names: readonly string[]): Promise<(string | null)[]> =>
      names.length === 0 ? Promise.resolve([]) : redis.use((client) => client.hmget(feed, ...names));
    const rowsOf = async (numbers: readonly string[]): Promise<Map<number, ParsedRow>> => {
      const texts = await fields(numbers);
      return new Map(
        numbers.flatMap((number, index) => {
          const text = texts[index] ?? null;
          return text === null ? [] : [[Number(number), parseRow(text)] as const];
        }),
      );
    };
    const numbers = (await fields(messageIds.map((id) => `i:${id}`))).filter((number) => number !== null);
    const rows = [...(await rowsOf(numbers)).values()];
    const firsts = await rowsOf(rows.flatMap(({ run }) => (typeof run === 'number' ? [String(run)] : [])));
    return new Map(
      rows.flatMap(({ id, run }) => {
        const runId = typeof run === 'number' ? firsts.get(run)?.run : run;
        return typeof runId === 'string' ? [[id, runId] as const] : [];
      }),
    );
  }

  return { readFeed, findFeedRow, runsOfMessages };
}

async function rowsOf(flat: readonly (number | StoredText)[]): Promise<FeedRow[]> {
  const stored = flat.filter((_, index) => index % 3 === 2) as StoredText[];
  const messages = await expandTexts(stored);
  return messages.map((message, index) => {
    const { run, at } = parseRow(String(flat[3 * index + 1]));
    return {
      seq: Number(flat[3 * index]),
      runId: typeof run === 'string' ? run : null,
      createdAt: at,
      message: toClientMessage(parseStored<Message>(message)),
    };
  });
}
