import type { FeedPage, FeedRow } from '@caribou/state';
import { ai, human } from '@caribou/testing';
import { messageEvents } from './message-events.js';

const THREAD = { userId: 'alice', threadId: 't' };
const MIB = 1024 * 1024;

const row = (seq: number, ms: number, text: string, type: 'ai' | 'human' = 'ai'): FeedRow => ({
  seq,
  runId: 'r',
  createdAt: new Date(ms).toISOString(),
  message: type === 'ai' ? ai(text) : human(text),
});

/** A timeline that gives two rows a page. */
const feedOf = (all: readonly FeedRow[]) => ({
  readFeed: (_: unknown, { before = Infinity }: { readonly before?: number }): Promise<FeedPage> => {
    const older = all.filter(({ seq }) => seq < before);
    const rows = older.slice(-2);
    const first = rows[0]?.seq ?? 0;
    return Promise.resolve({ rows, nextBefore: older.length > rows.length ? first : null });
  },
});

const read = async (all: readonly FeedRow[], part: { fromMs?: number; limit?: number } = {}) => {
  const { events, isCut } = await messageEvents(feedOf(all), THREAD, { runId: 'r', fromMs: 0, limit: 100, ...part });
  const texts = events.map(({ content }) => (content as { content: string }).content.slice(0, 10));
  return { texts, isCut, calls: events.map(({ metadata }) => metadata['llm_call_index']) };
};

describe('messageEvents', () => {
  const three = [row(1, 10, 'ask', 'human'), row(2, 20, 'one'), row(3, 30, 'two')];

  test('all pages are read, and answers are counted over them', async () => {
    expect(await read(three)).toEqual({ texts: ['ask', 'one', 'two'], isCut: false, calls: [undefined, 1, 2] });
  });

  test('what came before the millisecond of the cursor is left out, but counted', async () => {
    expect(await read(three, { fromMs: 30 })).toEqual({ texts: ['two'], isCut: false, calls: [2] });
  });

  test('messages that are too large together are cut after the first ones', async () => {
    const large = [1, 2, 3].map((seq) => row(seq, seq, `${seq}`.repeat(2 * MIB)));
    expect(await read(large)).toMatchObject({ texts: ['1111111111'], isCut: true });
    expect(await read([...three, ...large.map((one) => ({ ...one, seq: one.seq + 3 }))])).toMatchObject({
      isCut: true,
    });
  });

  test('a message larger than the limit is given alone', async () => {
    const huge = [row(1, 1, 'x'.repeat(5 * MIB)), row(2, 2, 'next')];
    expect(await read(huge)).toMatchObject({ texts: ['xxxxxxxxxx'], isCut: true });
  });

  test('those of the millisecond of the cursor do not count, so that a next page always has something new', async () => {
    const same = [1, 2, 3].map((seq) => row(seq, 7, `${seq}`.repeat(3 * MIB)));
    expect(await read([...same, row(4, 8, 'later')], { fromMs: 7 })).toMatchObject({
      texts: ['1111111111', '2222222222', '3333333333', 'later'],
      isCut: false,
    });
  });
});
