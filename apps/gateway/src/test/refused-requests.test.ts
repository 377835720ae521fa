import { waitFor } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const fixture = useGateways({ appendonly: false });
let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await fixture.open({ config: 'quotas:\n  max_runs_per_user: 1\n  max_streams_per_user: 1\n' });
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
    await waitFor(async () => Number((await post('/api/runs')).headers['retry-after']) >= 3, { what: 'a longer wait' });

    await post(`${pathOf(first.json<Started>())}/cancel`, {});
    const next = await post('/api/runs');
    expect([next.statusCode, next.headers['retry-after']]).toEqual([200, undefined]);
    expect((await post('/api/runs')).headers['retry-after']).toBe('1');
    await post(`${pathOf(next.json<Started>())}/cancel`, {});
  }, 30_000);

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
