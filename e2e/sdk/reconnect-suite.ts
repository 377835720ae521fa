import { connect, createServer, type Server, type Socket } from 'node:net';
import { type TestService, waitFor } from '@caribou/testing';
import { Client } from 'langgraph-sdk-1-15';
import { nth, type Stack } from '../support/stack.js';
import { ASSISTANT, chunksIn, COMBINED, lastValues, newGate, type Reading, read, say, textsOf } from './calls.js';
import { SDK_LINES, type SdkClient, type StreamPart } from './sdk-client.js';

/** One address in front of several gateways, like a load balancer; new connections go to the current target. */
interface Switch {
  readonly url: string;
  point(gateway: TestService): void;
  close(): Promise<void>;
}

async function startSwitch(first: TestService): Promise<Switch> {
  let target = first.healthPort;
  const open = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined); // `close` ends the other side
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/api/langgraph`,
    point: (gateway) => {
      target = gateway.healthPort;
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Both lines lose the same gateway, so that it dies once: the suites after this one do not have it. */
export function describeReconnect(use: () => Stack): void {
  test('kill -9 of the gateway in mid-stream: both SDK lines continue at the other one, nothing lost and nothing twice', async () => {
    const stack = use();
    const doomed = await stack.start('gateway');
    const balancer = await startSwitch(doomed);
    const gate = newGate();
    const script = `#hold ${gate} after 3\n#say One two three four five six.`;
    try {
      const streams = await Promise.all(SDK_LINES.map((line) => openStream(line.connect(balancer.url), script)));
      await waitFor(() => streams.every(({ parts }) => chunksIn(parts).length > 0), { what: 'words in both streams' });
      await waitFor(() => stack.model.listHolds().filter(({ name }) => name === gate).length === streams.length, {
        what: 'both runs to hold',
      });

      balancer.point(nth(stack.gateways, 0));
      await doomed.kill9();
      stack.model.release(gate);
      await Promise.all(streams.map(({ end }) => end));

      for (const { parts } of streams) expectWhole(parts);
    } finally {
      await balancer.close();
    }
  });
}

/** A client of SDK 1.15 that follows a thread loses its gateway in the middle of a run. */
export function describeThreadReconnect(use: () => Stack): void {
  test('kill -9 of the gateway in the middle of a stream of a thread: the SDK continues at the other one, over two runs', async () => {
    const stack = use();
    const doomed = await stack.start('gateway');
    const balancer = await startSwitch(doomed);
    const direct = new Client({ apiUrl: stack.client().base });
    const gate = newGate();
    try {
      const { thread_id: threadId } = await direct.threads.create();
      const start = (script: string) =>
        direct.runs.create(threadId, ASSISTANT, { ...say(script), streamMode: ['messages-tuple'] });
      const first = await start(`#hold ${gate} after 3\n#say One two three four five six.`);
      const { parts, end } = read(new Client({ apiUrl: balancer.url }).threads.joinStream(threadId));
      await waitFor(() => chunksIn(parts).length > 0, { what: 'words in the stream' });

      balancer.point(nth(stack.gateways, 0));
      await doomed.kill9();
      stack.model.release(gate);
      const done = () => parts.filter(({ event }) => event === 'run_done');
      await waitFor(() => done().length === 1, { what: 'the end of the first run' });
      const second = await start('#say Seven.');
      await waitFor(() => done().length === 2, { what: 'the end of the second run' });
      await direct.threads.delete(threadId);
      await end;

      expect(done().map(({ data }) => data)).toEqual(
        [first, second].map(({ run_id }) => ({ run_id, thread_id: threadId, status: 'success' })),
      );
      expect(
        chunksIn(parts)
          .map(({ content }) => content)
          .join(''),
      ).toBe('One two three four five six.Seven.');
      // `end` has no id of its own, so that the decoder shows the one before it.
      const ids = parts.flatMap(({ id, event }) => (id === undefined || event === 'end' ? [] : [id]));
      expect(new Set(ids).size).toBe(ids.length);
    } finally {
      await balancer.close();
    }
  });
}

async function openStream(client: SdkClient, script: string): Promise<Reading> {
  const { thread_id: threadId } = await client.threads.create();
  return read(client.runs.stream(threadId, ASSISTANT, { ...say(script), streamMode: COMBINED }));
}

function expectWhole(parts: readonly StreamPart[]): void {
  const [, answer] = textsOf(lastValues(parts));
  expect(answer).toBe('One two three four five six.');
  expect(
    chunksIn(parts)
      .map(({ content }) => content)
      .join(''),
  ).toBe(answer);
  expect(parts.filter(({ event }) => event === 'end')).toHaveLength(1);
  const ids = parts.flatMap(({ id }) => (id === undefined ? [] : [id]));
  expect(new Set(ids).size).toBe(ids.length);
}
