import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@caribou/testing';
import { scryptPasswords } from '../auth/passwords.js';
import type { OpenGateway } from '../open-gateway.js';
import { OpenStreams } from '../runs/streams/open-streams.js';
import { useGateways } from '../testing/gateway-fixture.js';
import { EventReader, SocketClient } from '../testing/protocol-client.js';
import { ANN, browserOf, SignInClient } from '../testing/sign-in-client.js';

const CONFIG = `clocks: {heartbeat_ms: 200}
quotas:
  max_streams_per_user: 3
  requests_per_second: 20
  request_burst: 40
auth:
  enabled: true
`;

const fixture = useGateways();
let gateway: OpenGateway;
let port: number;
const clients: { close(): void }[] = [];

beforeAll(async () => {
  const passwords = scryptPasswords({ cost: { logN: 10, r: 8, p: 1 } });
  const env = {
    CARIBOU_API_KEYS: 'robot-key-1:robot,other-key-1:other,flood-key-1:flood,quiet-key-1:quiet,idle-key-1:idle',
    CARIBOU_ALLOW_UNAUTHENTICATED: '1',
  };
  gateway = await fixture.open({ config: CONFIG, env, replaced: { passwords } });
  await gateway.app.listen(0, '127.0.0.1');
  port = (gateway.app.getHttpServer().address() as AddressInfo).port;
}, 30_000);

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

const urlOf = (threadId: string = randomUUID()): string =>
  `http://127.0.0.1:${port}/api/threads/${threadId}/stream/events`;
const ROBOT = { 'x-api-key': 'robot-key-1' };

async function open(headers: Record<string, string>, url = urlOf()): Promise<SocketClient> {
  const client = await SocketClient.open(url, { headers });
  clients.push(client);
  return client;
}

describe('the sender of a socket', () => {
  test('is known by an API key or a session, as on every route', async () => {
    const signIn = new SignInClient([gateway]);
    await signIn.setUp();
    const { cookie = '', 'x-csrf-token': token = '' } = browserOf(await signIn.signIn(ANN.email, ANN.password));

    await expect(open({})).rejects.toThrow('401');
    await expect(open({ 'x-api-key': 'wrong-key-1' })).rejects.toThrow('401');
    await expect(open({ cookie: 'access_token=x' })).rejects.toThrow('401');
    await expect(open({ cookie, origin: 'https://evil.example' })).rejects.toThrow('403');
    // Neither a page of this origin nor the token: another site may have opened it.
    await expect(open({ cookie })).rejects.toThrow('403');
    await open({ cookie, origin: `http://127.0.0.1:${port}` });
    await open({ cookie, 'x-csrf-token': token });
    await open(ROBOT);
  });

  test('loses it with the session', async () => {
    const signIn = new SignInClient([gateway]);
    const browser = browserOf(await signIn.signIn(ANN.email, ANN.password));
    const client = await open(browser);
    expect((await signIn.ask('POST', 'v1/auth/logout', { headers: browser })).status).toBe(200);
    await waitFor(() => client.closedWith !== undefined, { what: 'the close' });
  });

  test('sees only its own threads', async () => {
    const threadId = randomUUID();
    const mine = await open(ROBOT, urlOf(threadId));
    await mine.send('run.start', {
      assistant_id: 'lead_agent',
      input: { messages: [{ type: 'human', content: 'secret' }] },
    });
    const other = await open({ 'x-api-key': 'other-key-1' }, urlOf(threadId));

    await other.send('subscription.subscribe', { channels: ['lifecycle', 'values', 'messages'], since: 0 });
    for (const method of ['state.get', 'state.listCheckpoints', 'agent.getTree'])
      expect(await other.send(method)).toMatchObject({ type: 'error' });
    expect(other.events).toEqual([]);
  });
});

describe('limits', () => {
  test('sockets and streams of a user count together', async () => {
    for (let count = 0; count < 2; count += 1) await open(ROBOT);
    const reader = await EventReader.open(urlOf(), { channels: ['values'] }, ROBOT);
    await expect(open(ROBOT)).rejects.toThrow('429');
    await expect(EventReader.open(urlOf(), { channels: ['values'] }, ROBOT)).rejects.toThrow(
      '3 event streams are open',
    );
    await open({ 'x-api-key': 'other-key-1' });
    reader.close();
    await waitFor(
      () =>
        open(ROBOT).then(
          () => true,
          () => false,
        ),
      { what: 'the place of the closed stream' },
    );
  });

  test('a client that sends faster than it may gets errors, is read more slowly, and may go on', async () => {
    const client = await open({ 'x-api-key': 'flood-key-1' });
    const count = 70;
    const began = performance.now();
    for (let id = 1; id <= count; id += 1) client.socket.send(JSON.stringify({ id, method: 'agent.getTree' }));
    await waitFor(() => client.replies.length === count, { what: 'all answers' });

    expect(client.replies.map(({ id }) => id)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    const refused = client.replies.filter(({ error }) => error === 'unknown_error');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.message).toContain('more than 20 requests per second');
    expect(performance.now() - began).toBeGreaterThan(300);
    await waitFor(async () => (await client.send('agent.getTree')).error === 'no_such_run', {
      what: 'an answer again',
    });
  }, 40_000);

  test('a client that shows no sign of life is cut off', async () => {
    const openStreams = (): number => gateway.app.get(OpenStreams).registry.size;
    await waitFor(() => openStreams() === 0, { what: 'the end of the sockets before' });
    const client = await open({ 'x-api-key': 'quiet-key-1' });
    await waitFor(() => openStreams() === 1, { what: 'the socket to be counted' });
    client.socket.pause();
    await waitFor(() => openStreams() === 0, { what: 'the end of the socket' });
  });

  test('an idle socket is kept alive by pings', async () => {
    const client = await open({ 'x-api-key': 'idle-key-1' });
    let pings = 0;
    client.socket.on('ping', () => {
      pings += 1;
    });
    await waitFor(() => pings >= 6, { what: 'pings' });
    expect(client.closedWith).toBeUndefined();
  });

  test('a gateway that stops closes its sockets, so that clients connect to another one', async () => {
    const other = await fixture.open({ config: CONFIG, env: { CARIBOU_API_KEYS: 'robot-key-1:robot' } });
    await other.app.listen(0, '127.0.0.1');
    const { port: otherPort } = other.app.getHttpServer().address() as AddressInfo;
    const client = await open(ROBOT, urlOf().replace(String(port), String(otherPort)));
    await client.send('subscription.subscribe', { channels: ['values'] });
    for (const step of other.stop) await step.run();
    await waitFor(() => client.closedWith !== undefined, { what: 'the close' });
  });
});
