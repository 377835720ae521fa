import { httpRoutes, newId, StreamMode, type ThreadState } from '@caribou/contracts';
import { defineTool } from '@caribou/core';
import { scriptedModel } from '@caribou/testing';
import { z } from 'zod';
import { post, runBody, runIdOf, type RunStreamsFixture, useRunStreams } from '../testing/run-streams-fixture.js';

const MARKER = 'signature-that-no-client-sees';
const FIELD = 'provider_extras';
const HOOK_MS = 30_000;

const noop = defineTool({
  name: 'noop',
  description: 'does nothing',
  input: z.object({}),
  run: () => Promise.resolve({ content: 'did nothing' }),
});

/** One answer with a call, and one with text; both have all kinds of extras. */
const answers = () =>
  scriptedModel([
    {
      content: 'first',
      calls: [{ name: 'noop' }],
      extras: {
        message: { signature: MARKER },
        calls: { 0: { signature: MARKER } },
        parts: [{ type: 'thinking', signature: MARKER }, { text: 5 }, { call: 0 }],
      },
    },
    { content: 'second', extras: { message: { signature: MARKER }, parts: [{ text: 6 }, { signature: MARKER }] } },
  ]);

describe('extras of a provider', () => {
  let streams: RunStreamsFixture;
  let threadId: string;
  let runId: string;
  let checkpointId: string;
  let streamed: string;
  let waited: string;

  useRunStreams((fixture) => {
    streams = fixture;
  });

  /** A finished run of a new thread that was started by `path`, and what the request returned. */
  const runOf = async (path: string, body: object): Promise<{ runId: string; text: string }> => {
    threadId = await streams.newThread();
    const answer = post(`${streams.urlOf(0)}/threads/${threadId}/runs/${path}`, body);
    await (await claimed()).execute(answers(), [noop]);
    const response = await answer;
    return { runId: runIdOf(response), text: await response.text() };
  };

  const claimed = async () => {
    for (;;) {
      const claim = await streams.claim(threadId).catch(() => undefined);
      if (claim !== undefined) return claim;
    }
  };

  beforeAll(async () => {
    waited = (await runOf('wait', runBody())).text;
    const stream = await runOf('stream', runBody({ stream_mode: StreamMode.options, stream_subgraphs: true }));
    ({ text: streamed, runId } = stream);
    const state = await fetch(`${streams.urlOf(0)}/threads/${threadId}/state`);
    checkpointId = ((await state.json()) as { checkpoint: { checkpoint_id: string } }).checkpoint.checkpoint_id;
  }, HOOK_MS);

  const expectNone = (text: string): void => {
    expect(text).not.toContain(MARKER);
    expect(text).not.toContain(FIELD);
  };

  test('are stored with the message, for its calls under their ids', async () => {
    const { lease, head } = await anotherRun();
    const message = head.state.messages.find(({ content }) => content === 'first');
    if (message?.type !== 'ai') throw new Error('no answer');
    const id = message.tool_calls[0]?.id ?? '';
    expect(message.provider_extras).toEqual({
      provider: 'test',
      model: 'scripted',
      dialect: 'generic',
      message: { signature: MARKER },
      calls: { [id]: { signature: MARKER } },
      parts: [{ type: 'thinking', signature: MARKER }, { text: 5 }, { call: id }],
    });
    await streams.runs.finish(lease, { status: 'success', events: [] });
  });

  test('are not in the result of a waiting request, nor in any stream mode', () => {
    expect(waited).toContain('second');
    expect(streamed).toContain('second');
    for (const event of ['values', 'updates', 'tasks', 'debug', 'events', 'messages/complete', 'checkpoints'])
      expect(streamed).toContain(`event: ${event}`);
    expectNone(waited);
    expectNone(streamed);
  });

  test('are in no answer of a route that reads', async () => {
    // The stream of a thread, whose frames are those of its runs, has no end.
    const reading = httpRoutes.filter(
      ({ method, root, path, name }) =>
        method === 'GET' && !root && path.includes(':') && !name.startsWith('joinThread'),
    );
    let answersWithText = 0;
    for (const { path } of reading) {
      const text = await (await fetch(`${streams.urlOf(0)}${filled(path)}`)).text();
      expectNone(text);
      if (text.includes('second')) answersWithText += 1;
    }
    expect(answersWithText).toBeGreaterThanOrEqual(7);
  });

  test('are in no answer of a route that reads by POST, copies, updates or prepares', async () => {
    const url = `${streams.urlOf(0)}/threads`;
    const ai = await lastAnswerId();
    const asked: readonly (readonly [path: string, body: object])[] = [
      ['/search', {}],
      [`/${threadId}/history`, { limit: 100 }],
      [`/${threadId}/state/checkpoint`, { checkpoint: { checkpoint_id: checkpointId } }],
      [`/${threadId}/state`, { values: { title: 'new' } }],
      [`/${threadId}/copy`, {}],
      [`/${threadId}/branches`, { message_id: ai }],
      [`/${threadId}/runs/regenerate/prepare`, { message_id: ai }],
    ];
    for (const [path, body] of asked) {
      const response = await post(`${url}${path}`, body);
      expect([path, response.status]).toEqual([path, 200]);
      const text = await response.text();
      expectNone(text);
      const copy = (JSON.parse(text) as { thread_id?: string }).thread_id;
      if (copy === undefined || copy === threadId) continue;
      const state = await (await fetch(`${url}/${copy}/state`)).text();
      expect(state).toContain('second');
      expectNone(state);
    }
  });

  test('stay in a copy of the thread, and are kept when a client sends back the state that it has read', async () => {
    const url = `${streams.urlOf(0)}/threads`;
    const read = (await (await fetch(`${url}/${threadId}/state`)).json()) as { values: ThreadState };
    const copied = (await (await post(`${url}/${threadId}/copy`, {})).json()) as { thread_id: string };
    await post(`${url}/${copied.thread_id}/runs`, runBody({ input: { messages: read.values.messages } }));
    const claim = await streams.runs.claim({ userId: 'default', threadId: copied.thread_id }, newId());
    if (claim.kind !== 'run') throw new Error(claim.kind);
    const answersThere = claim.head.state.messages.filter(({ type }) => type === 'ai');
    expect(answersThere.map((message) => JSON.stringify(message).includes(MARKER))).toEqual([true, true]);
    await streams.runs.finish(claim.lease, { status: 'success', events: [] });
  });

  test('cannot be written by a client', async () => {
    const forged = { type: 'human', content: 'hi', [FIELD]: { provider: 'x', model: 'x', dialect: 'x' } };
    await post(`${streams.urlOf(0)}/threads/${threadId}/runs`, runBody({ input: { messages: [forged] } }));
    const claim = await streams.runs.claim({ userId: 'default', threadId }, newId());
    if (claim.kind !== 'run') throw new Error(claim.kind);
    expect(JSON.stringify(claim.run)).not.toContain(FIELD);
    await streams.runs.finish(claim.lease, { status: 'success', events: [] });
  });

  const filled = (path: string): string =>
    path
      .replace(':thread_id', threadId)
      .replace(':run_id', runId)
      .replace(':checkpoint_id', checkpointId)
      .replace(/:\w+|\*/g, 'x');

  const lastAnswerId = async (): Promise<string> => {
    const state = (await (await fetch(`${streams.urlOf(0)}/threads/${threadId}/state`)).json()) as {
      values: ThreadState;
    };
    return state.values.messages.at(-1)?.id ?? '';
  };

  const anotherRun = async () => {
    await post(`${streams.urlOf(0)}/threads/${threadId}/runs`, runBody());
    const claim = await streams.runs.claim({ userId: 'default', threadId }, newId());
    if (claim.kind !== 'run') throw new Error(claim.kind);
    return claim;
  };
});
