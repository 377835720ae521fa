import { newId } from '@caribou/contracts';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

/** What the entries of one page may be in the store, all together. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Nearly the largest metadata, and how many entries that have it one page may hold. */
const note = 'x'.repeat(60_000);
const fitting = Math.floor(PAGE_BYTES / note.length);

const fixture = useGateways({ appendonly: false });
let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await fixture.open({ env: { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' } });
}, 30_000);

const send = async (method: 'GET' | 'POST', url: string, key: string, payload?: object) => {
  const headers = { 'x-api-key': key };
  const answer = await gateway.app.inject({
    method,
    url: `/api${url}`,
    headers,
    ...(payload === undefined ? {} : { payload }),
  });
  expect({ url, status: answer.statusCode }).toEqual({ url, status: 200 });
  return answer;
};

interface Page {
  readonly ids: readonly string[];
  /** Offset of the next page. */
  readonly next: string | undefined;
}

/** All pages that the header leads to, with their sizes. */
async function followed(page: (offset: number) => Promise<Page>): Promise<{ ids: string[]; sizes: number[] }> {
  const ids: string[] = [];
  const sizes: number[] = [];
  for (let next: string | undefined = '0'; next !== undefined; ) {
    expect(Number(next)).toBe(ids.length);
    const found: Page = await page(Number(next));
    ids.push(...found.ids);
    sizes.push(found.ids.length);
    next = found.next;
  }
  return { ids, sizes };
}

describe('X-Pagination-Next', () => {
  test('leads through all threads of a search, whose pages end after 4 MiB', async () => {
    const group = newId();
    const made: string[] = [];
    for (let count = 0; count < fitting + 3; count += 1) {
      const answer = await send('POST', '/threads', 'alice-key-1', { metadata: { note, group } });
      made.unshift(answer.json<{ thread_id: string }>().thread_id);
    }
    for (const filter of [{}, { metadata: { group } }]) {
      const { ids, sizes } = await followed(async (offset) => {
        const answer = await send('POST', '/threads/search', 'alice-key-1', {
          limit: 1_000,
          offset,
          select: ['thread_id'],
          ...filter,
        });
        expect(answer.headers['x-pagination-total']).toBe(String(made.length));
        const threads = answer.json<{ thread_id: string }[]>();
        return { ids: threads.map((thread) => thread.thread_id), next: nextOf(answer.headers) };
      });
      expect([...ids].sort()).toEqual([...made].sort());
      expect(sizes).toEqual([expect.any(Number), expect.any(Number)]);
      expect(sizes[0]).toBeLessThanOrEqual(fitting);
    }
  }, 60_000);

  test('leads through all runs of a thread, whose pages end after 4 MiB, to an empty page', async () => {
    const threadId = newId();
    const made: string[] = [];
    for (let count = 0; count < fitting + 3; count += 1) {
      const answer = await send('POST', `/threads/${threadId}/runs`, 'bob-key-123', {
        assistant_id: 'lead_agent',
        if_not_exists: 'create',
        multitask_strategy: 'enqueue',
        input: { messages: 'hi' },
        metadata: { note },
      });
      made.unshift(answer.json<{ run_id: string }>().run_id);
    }
    const { ids, sizes } = await followed(async (offset) => {
      const answer = await send('GET', `/threads/${threadId}/runs?limit=1000&offset=${offset}`, 'bob-key-123');
      return { ids: answer.json<{ run_id: string }[]>().map(({ run_id }) => run_id), next: nextOf(answer.headers) };
    });
    expect([...ids].sort()).toEqual([...made].sort());
    expect(sizes).toEqual([expect.any(Number), expect.any(Number), 0]);
    expect(sizes[0]).toBeLessThanOrEqual(fitting);
  }, 60_000);
});

const nextOf = (headers: Readonly<Record<string, unknown>>): string | undefined => {
  const next = headers['x-pagination-next'];
  return typeof next === 'string' ? next : undefined;
};
