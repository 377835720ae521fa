import { waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const fixture = useGateways({ appendonly: false });
let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await fixture.open({
    config: 'quotas:\n  max_runs_per_user: 1\n  max_run_bytes_per_user: 100000\n  max_streams_per_user: 1\n',
  });
}, 30_000);

const run = { assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: 'hi' }] } };
const post = (url: string, payload: object = run) => gateway.app.inject({ method: 'POST', url, payload });

interface Started {
  readonly thread_id: string;
  readonly run_id: string;
}

const pathOf = ({ thread_id, run_id }: Started): string => `/api/threads/${thread_id}/runs/${run_id}`;

describe('Retry-After', () => {
  test('grows with the time for which a user has too many runs, until one of them is over', async () => {
    const first = await post('/api/runs');
    expect(first.statusCode).toBe(200);
    const refused = await post('/api/runs');
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1']);
    expect(refused.headers['ratelimit-policy']).toContain('"runs";q=1;qu="concurrent-requests"');
    expect(refused.headers['ratelimit']).toContain('"runs";r=0');
    expect(refused.json<{ detail: string }>().detail).toContain(
      '1 runs are in flight, which is the limit (quotas.max_runs_per_user)',
    );
    await waitFor(async () => Number((await post('/api/runs')).headers['retry-after']) >= 3, { what: 'a longer wait' });

    await post(`${pathOf(first.json<Started>())}/cancel`, {});
    const next = await post('/api/runs');
    expect([next.statusCode, next.headers['retry-after']]).toEqual([200, undefined]);
    expect((await post('/api/runs')).headers['retry-after']).toBe('1');
    await post(`${pathOf(next.json<Started>())}/cancel`, {});
  }, 30_000);

  test('is not sent where waiting does not help, and the refusal says how much is used', async () => {
    const large = { ...run, input: { messages: [{ role: 'user', content: 'x'.repeat(60_000) }] } };
    const { thread_id } = (await post('/api/threads', {})).json<Started>();
    const first = await post(`/api/threads/${thread_id}/runs`, large);
    expect(first.statusCode).toBe(200);
    await post(`${pathOf(first.json<Started>())}/cancel`, {});

    const refused = await post(`/api/threads/${thread_id}/runs`, large);
    expect(refused.statusCode).toBe(429);
    expect(refused.json<{ detail: string }>().detail).toMatch(
      /your runs hold 6\d{4} bytes, .* limit of 100000 \(quotas\.max_run_bytes_per_user\)/,
    );
    expect(refused.headers['ratelimit-policy']).toContain('"run-bytes";q=100000;qu="content-bytes"');
    expect(refused.headers['ratelimit']).toMatch(/"run-bytes";r=3\d{4}/);
    expect(refused.headers['retry-after']).toBeUndefined();
  });

  test('is sent with the number of streams that a user may open', async () => {
    await gateway.app.listen(0, '127.0.0.1');
    const run = (await post('/api/runs')).json<Started>();
    const url = `${await gateway.app.getUrl()}${pathOf(run)}/stream`;
    const reader = new AbortController();
    const open = await fetch(url, { signal: reader.signal });
    const refused = await fetch(url);

    expect([open.status, refused.status]).toEqual([200, 429]);
    expect(refused.headers.get('ratelimit-policy')).toContain('"streams";q=1;qu="concurrent-requests"');
    expect(refused.headers.get('ratelimit')).toContain('"streams";r=0');
    expect(refused.headers.get('retry-after')).toBe('1');
    const longer = async () => Number((await fetch(url)).headers.get('retry-after')) >= 2;
    await waitFor(longer, { what: 'a longer wait' });

    reader.abort();
    const next = new AbortController();
    const opened = await waitFor(
      async () => {
        const answer = await fetch(url, { signal: next.signal });
        return answer.ok && answer;
      },
      { what: 'a stream that is accepted' },
    );
    expect(opened.headers.get('retry-after')).toBeNull();
    expect((await fetch(url)).headers.get('retry-after')).toBe('1');
    next.abort();
  }, 30_000);
});

describe('RateLimit', () => {
  test('says how many runs and threads are left when one was accepted', async () => {
    const config = 'quotas:\n  max_runs_per_user: 5\n  max_threads_per_user: 7\n';
    const other = await fixture.open({ config, env: { CARIBOU_API_KEYS: 'ann-key-1:ann' } });
    const send = (url: string, payload: object) =>
      other.app.inject({ method: 'POST', url, payload, headers: { 'x-api-key': 'ann-key-1' } });

    const thread = await send('/api/threads', {});
    expect(thread.headers['ratelimit-policy']).toContain('"threads";q=7;qu="threads"');
    expect(thread.headers['ratelimit']).toContain('"threads";r=6');
    const copy = await send(`/api/threads/${thread.json<Started>().thread_id}/copy`, {});
    expect(copy.headers['ratelimit']).toContain('"threads";r=5');

    const started = await send('/api/runs', run);
    expect(started.headers['ratelimit-policy']).toContain('"runs";q=5;qu="concurrent-requests"');
    expect(started.headers['ratelimit']).toContain('"runs";r=4');
    const batch = await send('/api/runs/batch', [run, run]);
    expect(String(batch.headers['ratelimit']).match(/"runs";r=\d/g)).toEqual(['"runs";r=2']);
  });
});
