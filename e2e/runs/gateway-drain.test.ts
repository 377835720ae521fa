import { freePort, waitFor } from '@caribou/testing';
import { concatenateMessages, type Frame, lastValues, runIdOf } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(90_000);

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ gateways: 2, clocks: ['gateway_drain_delay_ms: 5000'] });
});

afterAll(() => stack.stop());

const isWord = (word: string) => (frame: Frame) =>
  frame.event === 'messages' && JSON.stringify(frame.data).includes(word);

test('SIGTERM of a gateway: it is not ready at once, works for its delay, and its streams are resumed at another one', async () => {
  const leaving = nth(stack.gateways, 0);
  const client = stack.client(0);
  const threadId = await client.newThread();
  const script = `${nonce()}\n#hold gate after 2 times=1\n#say One two three four.`;
  const stream = await client.run(threadId, script);
  await stream.waitFor('the second word', isWord('two'));
  const get = (path: string): Promise<Response> => fetch(`http://${leaving.host}:${leaving.healthPort}${path}`);
  expect((await get('/ready?for=traffic')).status).toBe(200);

  const exit = leaving.terminate(20_000);
  await waitFor(async () => (await get('/ready?for=traffic')).status === 503, { what: 'it not to be ready' });

  expect(await (await get('/ready')).json()).toMatchObject({
    status: 'not ready',
    missing: { stopping: expect.any(String) },
  });
  const health = await get('/health');
  expect([health.status, health.headers.get('connection')]).toEqual([200, 'close']);
  // Requests and streams are served until load balancers have turned away.
  const late = await client.run(await client.newThread(), '#say Late.');
  expect(lastValues(await late.end()).at(-1)?.content).toBe('Late.');
  expect(stream.broke).toBe(false);

  const before = await stream.end(20_000);
  expect(stream.broke).toBe(true);
  expect(await exit).toEqual({ code: 0, signal: null });
  expect(leaving.output()).not.toMatch(/"level":"error"/);

  const other = stack.client(1);
  const path = `/threads/${threadId}/runs/${runIdOf(stream)}/stream`;
  const resumed = await other.stream('GET', path, undefined, { 'last-event-id': stream.lastId ?? '' });
  stack.model.release('gate');
  const after = await resumed.end(30_000);

  const frames = [...before, ...after];
  expect(frames.filter(({ event }) => event === 'end')).toHaveLength(1);
  expect(lastValues(frames).map(({ content }) => content)).toEqual([script, 'One two three four.']);
  expect([...concatenateMessages(frames)].map(([, text]) => text)).toEqual(['One two three four.']);
});

test('with a health port of its own a gateway shows its metrics there to who has no key', async () => {
  const port = await freePort();
  const keys = { CARIBOU_API_KEYS: 'key-of-bob:bob', HOST: '127.0.0.1' };
  const gateway = await stack.start('gateway', { ...keys, CARIBOU_HEALTH_PORT: String(port) });
  const statusAt = async (at: number, path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${at}${path}`)).status;
  expect(await statusAt(gateway.healthPort, '/metrics')).toBe(401);
  expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toMatch(/^caribou_open_streams\{/m);
  expect([await statusAt(port, '/health'), await statusAt(port, '/ready'), await statusAt(port, '/threads')]).toEqual([
    ...[200, 200],
    404,
  ]);

  const exit = gateway.terminate(20_000);
  await waitFor(async () => (await statusAt(port, '/ready?for=traffic')) === 503, { what: 'it not to be ready' });

  expect(await exit).toEqual({ code: 0, signal: null });
});
