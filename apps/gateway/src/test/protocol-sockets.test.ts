import { randomUUID } from 'node:crypto';
import { waitFor } from '@caribou/testing';
import { rootLifecycle, SocketClient } from '../testing/protocol-client.js';
import { answerOf, post, type RunStreamsFixture, useRunStreams } from '../testing/run-streams-fixture.js';

let fixture: RunStreamsFixture;
useRunStreams((given) => {
  fixture = given;
});

const clients: SocketClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

const urlOf = (threadId: string, gateway = 0): string => `${fixture.urlOf(gateway)}/threads/${threadId}/stream/events`;

async function open(threadId: string, gateway = 0): Promise<SocketClient> {
  const client = await SocketClient.open(urlOf(threadId, gateway));
  clients.push(client);
  return client;
}

const START = { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: 'hi' }] } };

async function finish(threadId: string, name: string): Promise<void> {
  const runner = await fixture.claim(threadId);
  await runner.delta(name, 'One two.');
  await runner.finish('success', answerOf(name, 'One two.'));
}

describe('a socket', () => {
  test('carries commands, their answers and the events of its subscriptions, each once and in order', async () => {
    const threadId = randomUUID();
    const client = await open(threadId);
    for (const channels of [['values', 'lifecycle'], ['messages', 'lifecycle'], ['lifecycle']])
      expect(await client.send('subscription.subscribe', { channels })).toMatchObject({ type: 'success' });

    const started = await client.send('run.start', START);
    expect(started).toMatchObject({ type: 'success', meta: { applied_through_seq: 2 ** 33 - 1 } });
    await finish(threadId, 'a');

    const events = await client.untilEnded();
    const seqs = events.map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((one, other) => one - other));
    expect(new Set(events.map(({ method }) => method))).toEqual(new Set(['values', 'lifecycle', 'messages']));
  });

  test('gives a later subscription what it wants of the run', async () => {
    const threadId = randomUUID();
    const client = await open(threadId, 1);
    await client.send('subscription.subscribe', { channels: ['lifecycle'] });
    await client.send('run.start', START);
    await finish(threadId, 'a');
    await client.untilEnded();

    await client.send('subscription.subscribe', { channels: ['messages'] });
    await waitFor(() => client.events.some(({ params }) => params.data['event'] === 'content-block-delta'), {
      what: 'the message',
    });
    expect(rootLifecycle(client.events)).toEqual(['running', 'completed']);
  });

  test('ends a subscription, and says when there is none of that id', async () => {
    const threadId = randomUUID();
    const client = await open(threadId);
    const { result } = await client.send('subscription.subscribe', { channels: ['lifecycle', 'messages'] });
    const { result: other } = await client.send('subscription.subscribe', { channels: ['lifecycle'] });
    expect(await client.send('subscription.unsubscribe', result)).toMatchObject({ type: 'success', result: {} });
    expect(await client.send('subscription.unsubscribe', result)).toMatchObject({ error: 'no_such_subscription' });

    await client.send('run.start', START);
    await finish(threadId, 'a');
    await client.untilEnded();

    expect(new Set(client.events.map(({ method }) => method))).toEqual(new Set(['lifecycle']));
    await client.send('subscription.unsubscribe', other);
  });

  test('begins again after an event with subscription.reconnect, where it knows the subscriptions', async () => {
    const threadId = randomUUID();
    const client = await open(threadId);
    const { result } = await client.send('subscription.subscribe', { channels: ['lifecycle', 'messages'] });
    const { result: started } = await client.send('run.start', START);
    const runId = started?.['run_id'];
    await finish(threadId, 'a');
    const events = [...(await client.untilEnded())];
    client.events.length = 0;

    const reply = await client.send('subscription.reconnect', {
      run_id: runId,
      last_event_id: events[1]?.event_id,
      subscriptions: [result?.['subscription_id']],
    });

    expect(reply.result).toEqual({ restored: true, current_namespaces: [{ namespace: [], status: 'completed' }] });
    expect(await client.untilEnded()).toEqual(events.slice(2));
    const unknown = { run_id: runId, last_event_id: events[1]?.event_id, subscriptions: ['x'] };
    expect((await client.send('subscription.reconnect', unknown)).result).toMatchObject({ restored: false });
    expect(await client.send('subscription.reconnect', { run_id: randomUUID() })).toMatchObject({
      error: 'no_such_run',
    });
  });

  test('replays after `since`, also at another gateway', async () => {
    const threadId = randomUUID();
    const first = await open(threadId);
    await first.send('subscription.subscribe', { channels: ['messages', 'lifecycle'] });
    for (const name of ['a', 'b']) {
      await first.send('run.start', START);
      await finish(threadId, name);
      await waitFor(() => rootLifecycle(first.events).at(-1) === 'completed', { what: 'the end' });
    }
    const all = [...(await first.untilEnded(2))];

    const second = await open(threadId, 1);
    await second.send('subscription.subscribe', { channels: ['messages', 'lifecycle'], since: all[2]?.seq });

    expect(await second.untilEnded(2)).toEqual(all.slice(3));
  });

  test('has a bounded number of subscriptions', async () => {
    const client = await open(randomUUID());
    for (let count = 0; count < 64; count += 1)
      await client.send('subscription.subscribe', { channels: ['lifecycle'] });
    const refused = await client.send('subscription.subscribe', { channels: ['lifecycle'] });
    expect(refused).toMatchObject({ error: 'invalid_argument', message: expect.stringContaining('64') });
  });
});

describe('what is no command', () => {
  test.each<[string, string | Buffer, string]>([
    ['text that is not JSON', 'hello', 'not valid JSON'],
    ['bytes', Buffer.from('{}'), 'must be text'],
    ['deep JSON', '['.repeat(10_000), 'nested deeper than 100 levels'],
    [
      'a large field',
      JSON.stringify({ id: 1, method: 'run.start', params: { metadata: { a: 'x'.repeat(70_000) } } }),
      'metadata',
    ],
    ['an object without id', '{"method":"state.get"}', 'id: '],
  ])('%s is answered with an error, and the socket stays', async (_what, message, text) => {
    const client = await open(randomUUID());
    client.socket.send(message);
    await waitFor(() => client.replies.length === 1, { what: 'the answer' });
    expect(client.replies[0]).toMatchObject({ type: 'error', id: null, error: 'invalid_argument' });
    expect(client.replies[0]?.message).toContain(text);
    expect(await client.send('state.get')).toMatchObject({ type: 'error' });
  });

  test('a message over the limit of a body closes the socket', async () => {
    const client = await open(randomUUID());
    client.socket.send('x'.repeat(40 * 1024 * 1024));
    await waitFor(() => client.closedWith !== undefined, { what: 'the close' });
    expect([1009, 1006]).toContain(client.closedWith);
  });
});

describe('an upgrade', () => {
  test('to a route without sockets is answered as HTTP', async () => {
    await expect(SocketClient.open(`${fixture.urlOf(0)}/threads/${randomUUID()}`)).rejects.toThrow('404');
    await expect(SocketClient.open(`${fixture.urlOf(0)}/nothing/here`)).rejects.toThrow('404');
    await expect(SocketClient.open(urlOf('bad.id'))).rejects.toThrow('422');
  });

  test('of a page of a foreign origin is refused', async () => {
    await expect(SocketClient.open(urlOf(randomUUID()), { origin: 'https://evil.example' })).rejects.toThrow('403');
    const own = await SocketClient.open(urlOf(randomUUID()), { origin: 'http://localhost:3000' });
    clients.push(own);
    expect(await own.send('agent.getTree')).toMatchObject({ error: 'no_such_run' });
  });

  test('is served under both prefixes of the API', async () => {
    const url = urlOf(randomUUID()).replace('/api/', '/api/langgraph/');
    clients.push(await SocketClient.open(url));
    expect((await post(url.replace('stream/events', 'commands'), { id: 1, method: 'agent.getTree' })).status).toBe(200);
  });
});
