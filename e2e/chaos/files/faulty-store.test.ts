import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { type FaultyStore, startFaultyStore } from './faulty-store.js';

const BODY = 'x'.repeat(100_000);

let store: Server;
let port: number;
/** Bytes of each whole request that arrived. */
let received: number[];

beforeAll(async () => {
  store = createServer((request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => {
      received.push(bytes);
      response.writeHead(200, { 'content-length': BODY.length }).end(BODY);
    });
  });
  store.listen(0, '127.0.0.1');
  await once(store, 'listening');
  ({ port } = store.address() as { port: number });
});
beforeEach(() => (received = []));
afterAll(() => {
  store.closeAllConnections();
  store.close();
});

async function withProxy<T>(share: number, work: (proxy: FaultyStore) => Promise<T>): Promise<T> {
  const proxy = await startFaultyStore({ target: port, seed: 1, share });
  try {
    return await work(proxy);
  } finally {
    await proxy.stop();
  }
}

const put = async (proxy: FaultyStore): Promise<string> => {
  try {
    const answer = await fetch(`${proxy.url}/bucket/key`, { method: 'PUT', body: BODY });
    const text = await answer.text();
    return `${answer.status} ${text.length === BODY.length ? 'whole' : (/<Code>(\w+)/.exec(text)?.[1] ?? 'part')}`;
  } catch {
    return 'broken';
  }
};

test('passes requests and answers as they are', async () => {
  await withProxy(0, async (proxy) => {
    expect(await put(proxy)).toBe('200 whole');
    expect(received).toEqual([BODY.length]);
    expect(proxy.counts).toEqual({ requests: 1, failures: 0 });
  });
});

test('fails a share of the requests in all ways, some of them after the store has done its part', async () => {
  await withProxy(1, async (proxy) => {
    const seen: string[] = [];
    for (let call = 0; call < 40; call += 1) seen.push(await put(proxy));
    expect(new Set(seen)).toEqual(new Set(['500 InternalError', '503 SlowDown', 'broken']));
    expect(proxy.counts).toEqual({ requests: 40, failures: 40 });
    // Those whose answers broke were whole, those that broke themselves were not.
    expect(received.length).toBeGreaterThan(0);
    expect(received.length).toBeLessThan(seen.filter((one) => one === 'broken').length);
    expect(new Set(received)).toEqual(new Set([BODY.length]));
  });
});

test('breaks connections while the store is away', async () => {
  const proxy = await startFaultyStore({ target: 9, seed: 1, share: 0 });
  expect(await put(proxy)).toBe('broken');
  await proxy.stop();
});
