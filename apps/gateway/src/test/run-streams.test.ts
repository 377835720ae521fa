import { connectBus } from '@caribou/bus';
import type { AiMessage, NumberedEvent, RunEvent, RunStatus } from '@caribou/contracts';
import { applyUpdate, type RunLease, type RunStore, silentLogger, type ThreadHead } from '@caribou/core';
import { type RedisConnection, redisRunStore } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import type { AddressInfo } from 'node:net';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

interface Frame {
  readonly event: string;
  readonly id: string;
  readonly data: unknown;
}

const framesOf = (text: string): Frame[] =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('event:'))
    .map((block) => {
      const fields = new Map(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      return {
        event: fields.get('event') ?? '',
        id: fields.get('id') ?? '',
        data: JSON.parse(fields.get('data') ?? 'null') as unknown,
      };
    });

const model = { node: 'model_request', step: 1 };
const answerOf = (id: string, content: string): AiMessage => ({
  type: 'ai',
  id,
  content,
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
});

describe('run streams', () => {
  const fixture = useGateways();
  const gateways: { readonly gateway: OpenGateway; readonly url: string }[] = [];
  let runs: RunStore;
  let redis: RedisConnection;
  let publish: (runId: string, events: readonly NumberedEvent[]) => void;

  beforeAll(async () => {
    for (let count = 0; count < 2; count += 1) {
      const gateway = await fixture.open();
      await gateway.app.listen(0, '127.0.0.1');
      const { port } = gateway.app.getHttpServer().address() as AddressInfo;
      gateways.push({ gateway, url: `http://127.0.0.1:${port}/api` });
    }
    redis = fixture.connectRedis();
    const bus = connectBus({ url: fixture.nats.url, name: 'runner', logger: silentLogger, streams: [] });
    fixture.closeAtEnd(() => bus.close());
    await bus.waitUntilConnected();
    runs = redisRunStore(redis);
    publish = (runId, events) => bus.publishEvents(runId, events);
  }, 30_000);

  const at = (index: number): string => gateways[index]?.url ?? '';
  const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const newThread = async (): Promise<string> =>
    ((await (await post(`${at(0)}/threads`, {})).json()) as { thread_id: string }).thread_id;
  const body = (more: object = {}) => ({
    assistant_id: 'lead_agent',
    input: { messages: [{ role: 'user', content: 'hi' }] },
    ...more,
  });
  const runIdOf = (response: Response): string => response.headers.get('content-location')?.split('/').at(-1) ?? '';

  /** A runner that does what the test says, step by step, over the real store and bus. */
  class Runner {
    private constructor(
      readonly lease: RunLease,
      private head: ThreadHead,
    ) {}

    static async claim(threadId: string): Promise<Runner> {
      const claimed = await runs.claim({ userId: 'default', threadId }, `owner-${Math.random()}`);
      if (claimed.kind !== 'run') throw new Error(`nothing to run: ${claimed.kind}`);
      const { lease, run, head } = claimed;
      const runner = new Runner(lease, head);
      await runner.tell([
        {
          kind: 'run.start',
          run_id: run.run_id,
          thread_id: threadId,
          attempt: run.attempt,
          dropped_message_ids: [],
          checkpoint_id: null,
        },
      ]);
      const state = applyUpdate(head.state, run.kwargs.input ?? {});
      const commit = {
        head,
        state,
        next: ['model_request' as const],
        source: 'input' as const,
        step: 0,
        events: [],
        inputCommitted: true,
      };
      const { appended, head: committed } = await runs.commit(lease, commit);
      publish(lease.runId, appended);
      runner.head = committed;
      return runner;
    }

    async tell(events: readonly RunEvent[], options: { readonly silently?: boolean } = {}): Promise<void> {
      const appended = await runs.append(this.lease, events);
      if (options.silently !== true) publish(this.lease.runId, appended);
    }

    async delta(id: string, content: string, options: { readonly silently?: boolean } = {}): Promise<void> {
      await this.tell([{ kind: 'message.delta', ...model, message_id: id, content }], options);
    }

    async finish(status: RunStatus, answer?: AiMessage): Promise<void> {
      const state = applyUpdate(this.head.state, answer === undefined ? {} : { messages: [answer] });
      const failed = status === 'error' ? { error: { name: 'ModelError', message: 'nope' } } : {};
      const events: RunEvent[] = status === 'error' ? [{ kind: 'error', name: 'ModelError', message: 'nope' }] : [];
      const commit = { head: this.head, state, next: [], source: 'loop' as const, step: 1, events: [] };
      const { appended } = await runs.finish(this.lease, { status, events, commit, ...failed });
      publish(this.lease.runId, appended);
    }
  }

  test('a turn streams metadata, the input, deltas and the final values, and its headers say where it is', async () => {
    const threadId = await newThread();
    const response = await post(
      `${at(0)}/threads/${threadId}/runs/stream`,
      body({ stream_mode: ['values', 'messages-tuple'] }),
    );
    const runId = runIdOf(response);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(response.headers.get('content-location')).toBe(`/threads/${threadId}/runs/${runId}`);
    expect(response.headers.get('location')).toBe(`/threads/${threadId}/runs/${runId}/stream`);
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('x-accel-buffering')).toBe('no');

    const runner = await Runner.claim(threadId);
    await runner.delta('a1', 'Hel');
    await runner.delta('a1', 'lo');
    await runner.finish('success', answerOf('a1', 'Hello'));
    const frames = framesOf(await response.text());

    expect(frames.map(({ event }) => event)).toEqual(['metadata', 'values', 'messages', 'messages', 'values', 'end']);
    expect(frames[0]?.data).toEqual({ run_id: runId, thread_id: threadId, attempt: 1 });
    expect(frames[4]?.data).toMatchObject({
      messages: [
        { type: 'human', content: 'hi' },
        { id: 'a1', content: 'Hello' },
      ],
    });
  });

  test('a client whose gateway stops goes on at the other with its last id, nothing lost or doubled', async () => {
    const threadId = await newThread();
    const response = await post(
      `${at(0)}/threads/${threadId}/runs/stream`,
      body({ stream_mode: ['values', 'messages-tuple'] }),
    );
    const reader = response.body?.getReader();
    const runner = await Runner.claim(threadId);
    await runner.delta('a1', 'one ');
    let text = '';
    while (!text.includes('one ')) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    const seen = framesOf(text);

    const rejoined = fetch(`${at(1)}/threads/${threadId}/runs/${runIdOf(response)}/stream`, {
      headers: { 'last-event-id': seen.at(-1)?.id ?? '' },
    });
    await runner.delta('a1', 'two');
    await runner.finish('success', answerOf('a1', 'one two'));
    const rest = framesOf(await (await rejoined).text());
    const whole = framesOf(await (await fetch(`${at(1)}/threads/${threadId}/runs/${runIdOf(response)}/stream`)).text());

    expect([...seen, ...rest]).toEqual(whole);
    expect(whole.map(({ event }) => event)).toEqual(['metadata', 'values', 'messages', 'messages', 'values', 'end']);
  });

  test('events that NATS never carried are found in the log', async () => {
    const threadId = await newThread();
    const response = await post(`${at(0)}/threads/${threadId}/runs/stream`, body({ stream_mode: ['messages-tuple'] }));
    const runner = await Runner.claim(threadId);
    await runner.delta('a1', 'lost', { silently: true });
    await runner.delta('a1', 'told');
    await runner.finish('success', answerOf('a1', 'losttold'));

    const chunks = framesOf(await response.text()).filter(({ event }) => event === 'messages');
    expect(chunks.map(({ data }) => (data as [{ content: string }])[0].content)).toEqual(['lost', 'told']);
  });

  test('a client that returns after the events expired, or after Redis lost the newest, gets a gap', async () => {
    const threadId = await newThread();
    const runId = runIdOf(await post(`${at(0)}/threads/${threadId}/runs`, body({ stream_mode: ['messages-tuple'] })));
    const runner = await Runner.claim(threadId);
    for (const piece of ['one ', 'two ', 'three']) await runner.delta('a1', piece);
    const resume = async (id: string): Promise<Frame[]> => {
      const headers = { 'last-event-id': id };
      const url = `${at(0)}/threads/${threadId}/runs/${runId}/stream?stream_mode=messages-tuple`;
      return framesOf(await (await fetch(url, { headers })).text());
    };

    expect(await resume('9')).toMatchObject([{ event: 'gap', data: { latest_available_event_id: '5' } }]);
    await runner.finish('success', answerOf('a1', 'one two three'));
    await redis.use((client) => client.unlink(redis.keys.runEvents('default', runId)));

    expect(await resume('3')).toMatchObject([
      { event: 'gap', data: { requested_event_id: '3', latest_available_event_id: '7', run_id: runId } },
    ]);
    expect(await resume('7')).toMatchObject([{ event: 'end', id: '7' }]);
  });

  test('wait answers headers at once, newlines meanwhile, and the final values', async () => {
    const threadId = await newThread();
    const response = await post(`${at(0)}/threads/${threadId}/runs/wait`, body());
    expect(response.status).toBe(200);
    const runner = await Runner.claim(threadId);
    await runner.finish('success', answerOf('a1', 'done'));
    const text = await response.text();

    expect(JSON.parse(text)).toMatchObject({ messages: [{ content: 'hi' }, { content: 'done' }] });
    const joined = await fetch(`${at(1)}/threads/${threadId}/runs/${runIdOf(response)}/join`);
    expect(await joined.json()).toEqual(JSON.parse(text));
  });

  test('a failed run streams one error and end, and wait gives __error__', async () => {
    const threadId = await newThread();
    const response = await post(`${at(0)}/threads/${threadId}/runs/stream`, body());
    await (await Runner.claim(threadId)).finish('error', answerOf('a1', 'sorry'));
    const frames = framesOf(await response.text());
    const joined = await fetch(`${at(0)}/threads/${threadId}/runs/${runIdOf(response)}/join`);

    expect(frames.slice(-2).map(({ event }) => event)).toEqual(['error', 'end']);
    expect(frames.at(-2)?.data).toEqual({ error: 'ModelError', name: 'ModelError', message: 'nope' });
    expect(await joined.json()).toEqual({ __error__: { error: 'ModelError', message: 'nope' } });
  });

  test('a repeated Idempotency-Key joins the same run, streams included; another body is refused', async () => {
    const threadId = await newThread();
    const key = { 'idempotency-key': `key-${threadId}` };
    const first = await post(`${at(0)}/threads/${threadId}/runs/stream`, body(), key);
    const second = await post(`${at(1)}/threads/${threadId}/runs/stream`, body(), key);
    const other = await post(`${at(0)}/threads/${threadId}/runs/stream`, body({ metadata: { other: 1 } }), key);
    await (await Runner.claim(threadId)).finish('success', answerOf('a1', 'once'));

    expect(runIdOf(second)).toBe(runIdOf(first));
    expect(other.status).toBe(422);
    expect(framesOf(await second.text())).toEqual(framesOf(await first.text()));
  });

  test('a client that leaves cancels its run only when it said so', async () => {
    for (const [on_disconnect, cancelled] of [
      ['cancel', true],
      ['continue', false],
    ] as const) {
      const threadId = await newThread();
      const leave = new AbortController();
      const response = await fetch(`${at(0)}/threads/${threadId}/runs/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body({ on_disconnect })),
        signal: leave.signal,
      });
      const runner = await Runner.claim(threadId);
      leave.abort();
      await response.text().catch(() => undefined);
      if (cancelled)
        await waitFor(async () => (await runs.renew(runner.lease)).cancel === 'interrupt', { what: 'the cancel flag' });
      else expect((await runs.renew(runner.lease)).cancel).toBeNull();
      await runner.finish(cancelled ? 'interrupted' : 'success');
    }
  });

  test('cancel answers 202 at once, 204 when the run has stopped, and 204 for one that is over', async () => {
    const threadId = await newThread();
    const created = await post(`${at(0)}/threads/${threadId}/runs`, body());
    const runner = await Runner.claim(threadId);
    const cancel = `${at(1)}/threads/${threadId}/runs/${runIdOf(created)}/cancel`;

    expect((await fetch(`${cancel}?wait=0&action=interrupt`, { method: 'POST' })).status).toBe(202);
    const waiting = fetch(`${cancel}?wait=1`, { method: 'POST' });
    await runner.finish('interrupted');
    expect((await waiting).status).toBe(204);
    expect((await fetch(`${cancel}?wait=1`, { method: 'POST' })).status).toBe(204);
  });

  test('a queued run that is cancelled ends its own stream', async () => {
    const threadId = await newThread();
    await post(`${at(0)}/threads/${threadId}/runs`, body());
    const queued = await post(`${at(0)}/threads/${threadId}/runs/stream`, body({ multitask_strategy: 'enqueue' }));
    await fetch(`${at(1)}/threads/${threadId}/runs/${runIdOf(queued)}/cancel`, { method: 'POST' });

    expect(framesOf(await queued.text()).map(({ event }) => event)).toEqual(['metadata', 'end']);
  });

  test('a stateless run has a thread of its own that nobody finds afterwards', async () => {
    const waiting = await post(`${at(0)}/runs/wait`, body());
    const threadId = waiting.headers.get('content-location')?.split('/')[2] ?? '';
    await (await Runner.claim(threadId)).finish('success', answerOf('a1', 'alone'));

    expect(await waiting.json()).toMatchObject({ messages: [{ content: 'hi' }, { content: 'alone' }] });
    expect((await fetch(`${at(0)}/threads/${threadId}`)).status).toBe(404);
  });

  test('a gateway that stops breaks its streams off without an end, and leaves their runs alone', async () => {
    const threadId = await newThread();
    const response = await post(`${at(1)}/threads/${threadId}/runs/stream`, body({ on_disconnect: 'cancel' }));
    const runner = await Runner.claim(threadId);
    const reading = response.text();
    await gateways[1]?.gateway.app.close();

    await expect(reading).rejects.toThrow();
    expect((await runs.renew(runner.lease)).cancel).toBeNull();
  });
});
