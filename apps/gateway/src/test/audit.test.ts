import { newId } from '@caribou/contracts';
import { redisAuditLog } from '@caribou/state';
import { type AdminClient, useAdmin } from '../testing/admin-client.js';

interface Audit {
  readonly entries: readonly { readonly id: string; readonly line: { readonly what?: string } }[];
  readonly next_cursor: string | null;
}

let admin: AdminClient;
useAdmin((client) => {
  admin = client;
});

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** Writes lines with the times of their positions, as Redis would have. */
async function write(lines: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
  await admin.redis.use((client) => client.del(admin.redis.keys.audit));
  const batch = 1_000;
  for (let from = 0; from < lines.length; from += batch)
    await admin.redis.use((client) =>
      Promise.all(
        lines.slice(from, from + batch).map((line, index) => {
          const id = `${Date.parse(at(from + index))}-0`;
          return client.xadd(admin.redis.keys.audit, id, 'line', JSON.stringify(line));
        }),
      ),
    );
}

const lineOf = (number: number) => ({
  what: `command ${number}`,
  user_id: number % 2 === 0 ? 'alice' : 'bob',
  thread_id: `t${number % 4}`,
  operation: number % 5 === 0 ? 'write_file' : 'exec',
  verdict: number % 7 === 0 ? 'timeout' : 'ok',
});

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const list = async (query: string): Promise<Audit> => (await admin.send<Audit>('GET', `/admin/audit?${query}`)).body;
const whats = ({ entries }: Audit): readonly (string | undefined)[] => entries.map(({ line }) => line.what);

describe('the audit', () => {
  test('is shown newest first, page by page, by each filter', async () => {
    const written = numbers(40).map(lineOf);
    await write(written);
    const expected = (matches: (line: ReturnType<typeof lineOf>) => boolean) =>
      written
        .filter(matches)
        .map(({ what }) => what)
        .reverse();

    const first = await list('limit=25');
    const second = await list(`limit=25&cursor=${first.next_cursor}`);
    expect([...whats(first), ...whats(second)]).toEqual(expected(() => true));
    expect(second.next_cursor).toBeNull();
    expect(whats(await list('user=bob'))).toEqual(expected(({ user_id: user }) => user === 'bob'));
    expect(whats(await list('thread=t3&action=write_file'))).toEqual(
      expected(({ thread_id: id, operation }) => id === 't3' && operation === 'write_file'),
    );
    expect(whats(await list('outcome=timeout'))).toEqual(expected(({ verdict }) => verdict === 'timeout'));
    expect(whats(await list(`from=${at(10)}&to=${at(12)}`))).toEqual(['command 12', 'command 11', 'command 10']);
  });

  test('looks through a bounded number of lines for one page, and continues where it stopped', async () => {
    await write(numbers(6_000).map((number) => ({ ...lineOf(number), ...(number === 3 ? { user_id: 'carol' } : {}) })));

    const first = await list('user=carol');
    expect(first.entries).toEqual([]);
    const second = await list(`user=carol&cursor=${first.next_cursor}`);

    expect(whats(second)).toEqual(['command 3']);
    expect(second.next_cursor).toBeNull();
  });

  test('is exported as one JSON object per line, oldest first, with the filters of the list', async () => {
    await write(numbers(1_200).map(lineOf));
    const file = (query: string) =>
      admin.gateways[0]?.app.inject({
        url: `/api/admin/audit/export?${query}`,
        headers: { 'x-api-key': 'root-key-1' },
      });

    const all = await file('');
    const lines = all?.body.trimEnd().split('\n') ?? [];
    expect(all?.headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-disposition': 'attachment; filename="audit.ndjson"',
    });
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(numbers(1_200).map(lineOf));
    expect((await file('user=bob&limit=3'))?.body.trimEnd().split('\n')).toEqual(
      [1, 3, 5].map((number) => JSON.stringify(lineOf(number))),
    );
    expect((await file(`from=${at(5_000)}`))?.body).toBe('');
    expect((await file(`from=${at(9)}&to=${at(8)}`))?.statusCode).toBe(422);
  });

  test('has lines that cannot be read neither in a page nor in the export, and they stop neither', async () => {
    await write(numbers(2).map(lineOf));
    await admin.redis.use((client) => client.xadd(admin.redis.keys.audit, '*', 'line', '{broken'));
    await redisAuditLog(admin.redis).append([
      {
        ...{ id: newId(), at: at(0), user_id: 'alice', thread_id: 't1', operation: 'exec', verdict: 'ok' },
        ...{ duration_ms: 1, manager_id: 'm1', what: 'last' },
      },
    ]);
    expect(whats(await list('limit=10'))).toEqual(['last', 'command 1', 'command 0']);
  });

  test.each([
    ['limit=0', 'limit: '],
    ['limit=501', 'limit: '],
    ['cursor=abc', 'cursor: '],
    ['from=yesterday', 'from: '],
    [`from=${at(9)}&to=${at(8)}`, 'from: must not be after'],
    ['user=a.b', 'user: '],
    ['colour=red', 'colour'],
  ])('a list with %s is refused', async (query, detail) => {
    expect(await admin.send('GET', `/admin/audit?${query}`)).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining(detail) as unknown },
    });
  });
});
