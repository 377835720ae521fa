import { ModelError } from '@caribou/contracts';
import type { ModelCall, ModelCatalog, ModelPort } from '@caribou/core';
import { ai, type ScriptedAnswer, scriptedModel } from '@caribou/testing';
import { NO_ENV_MODEL, useGateways } from '../testing/gateway-fixture.js';
import { textsOf, type ThreadClient, useThreadClient } from '../testing/thread-client.js';

const CONFIG = `
models:
  - name: big
    api_key: unused
  - name: small
    api_key: unused
input_polish: {max_chars: 50}
summarization: {trigger: {type: messages, value: 50}, keep: {type: messages, value: 2}}
`;

const fixture = useGateways();
let alice: ThreadClient;
let model: ModelPort;
/** What the models were asked, with their names. */
let asked: { name: string | undefined; call: ModelCall }[];
/** Called while the model answers. */
let during: () => Promise<unknown>;

const models: ModelCatalog = {
  names: ['big', 'small'],
  get: (name) => ({
    ...model,
    name: name ?? 'big',
    stream: async function* (call, options) {
      asked.push({ name, call });
      await during();
      yield* model.stream(call, options);
    },
  }),
};

useThreadClient(fixture, (client) => (alice = client), {
  config: CONFIG,
  env: { ...NO_ENV_MODEL, CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-1:bob' },
  replaced: { models },
  user: { userId: 'alice', key: 'alice-key-1' },
});

beforeEach(() => {
  asked = [];
  during = () => Promise.resolve();
});

const answering = (answer: ScriptedAnswer): void => {
  model = scriptedModel([answer]);
};

async function send(url: string, payload: object, key = 'alice-key-1') {
  const reply = await alice.gateway.app.inject({
    method: 'POST',
    url: `/api${url}`,
    payload,
    headers: { 'x-api-key': key },
  });
  return { status: reply.statusCode, body: reply.json<Record<string, unknown>>() };
}

describe('POST /threads/:thread_id/compact', () => {
  const talk = async (turns: number): Promise<string> => {
    const threadId = await alice.newThread();
    for (let turn = 1; turn <= turns; turn += 1) await alice.turn(threadId, `t${turn}`);
    return threadId;
  };
  const stateOf = async (threadId: string) =>
    (await alice.ask<{ values: { messages: { content: unknown }[]; summary_text?: string } }>(`/${threadId}/state`))
      .body.values;

  test('the older part becomes a summary, durably; the timeline stays, and the next run continues', async () => {
    const threadId = await talk(3);
    answering({ content: ['They counted.'] });

    const { status, body } = await send(`/threads/${threadId}/compact`, {});
    expect([status, body]).toEqual([
      200,
      {
        thread_id: threadId,
        compacted: true,
        reason: null,
        removed_message_count: 4,
        preserved_message_count: 2,
        summary_updated: true,
        checkpoint_id: expect.any(String),
        total_tokens: expect.any(Number),
      },
    ]);
    expect(JSON.stringify(asked[0]?.call.messages)).toContain('about t2');
    expect(await stateOf(threadId)).toMatchObject({
      summary_text: 'They counted.',
      messages: [{}, { content: 'about t3' }],
    });
    expect(textsOf(await alice.page(threadId))).toHaveLength(6);
    await alice.turn(threadId, 't4');
    expect((await stateOf(threadId)).messages).toHaveLength(4);
  });

  test('what is too short, or below the threshold without force, stays as it is and asks no model', async () => {
    const threadId = await talk(3);

    expect((await send(`/threads/${threadId}/compact`, { force: false })).body).toMatchObject({
      compacted: false,
      reason: 'below_threshold',
    });
    expect((await send(`/threads/${threadId}/compact`, { keep: { type: 'messages', value: 10 } })).body).toMatchObject({
      compacted: false,
      reason: 'not_enough_messages',
      preserved_message_count: 6,
      checkpoint_id: null,
    });
    expect((await send(`/threads/${await alice.newThread()}/compact`, {})).body).toMatchObject({
      reason: 'not_enough_messages',
    });
    expect(asked).toEqual([]);
  });

  test('a run under way refuses it, and one that begins during it keeps its conversation', async () => {
    const threadId = await talk(3);
    answering({ content: ['Summary.'] });
    during = () => alice.turn(threadId, 'meanwhile');

    expect(await send(`/threads/${threadId}/compact`, {})).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('changed') },
    });
    expect((await stateOf(threadId)).messages).toHaveLength(8);
    during = () => alice.start(threadId, { input: { messages: 'x' } });
    expect((await send(`/threads/${threadId}/compact`, {})).status).toBe(409);
    expect((await send(`/threads/${threadId}/compact`, {})).status).toBe(409);
    expect(asked).toHaveLength(2);
    await alice.execute(threadId, { messages: [ai('done')] });
    expect(await stateOf(threadId)).not.toHaveProperty('summary_text');
  });

  test('a model that fails or says nothing changes nothing', async () => {
    const threadId = await talk(3);
    answering({ error: new ModelError('down') });
    expect((await send(`/threads/${threadId}/compact`, {})).status).toBe(502);
    answering({ content: [' '] });
    expect((await send(`/threads/${threadId}/compact`, {})).status).toBe(502);
    expect((await stateOf(threadId)).messages).toHaveLength(6);
  });

  test('the model is that of the request; others have no such thread', async () => {
    const threadId = await talk(3);
    answering({ content: ['S.'] });

    expect((await send(`/threads/${threadId}/compact`, {}, 'bob-key-1')).status).toBe(404);
    expect((await send(`/threads/${threadId}/compact`, { model_name: 'small' })).status).toBe(200);
    expect(asked.map(({ name }) => name)).toEqual(['small']);
    for (const [body, detail] of [
      [{ model_name: 'none' }, 'model_name: there is no model'],
      [{ agent_name: 'none' }, 'agent_name: there is no agent'],
      [{ keep: { type: 'lines', value: 1 } }, 'keep'],
      [{ other: 1 }, 'other: is not supported'],
    ] as const)
      expect(await send(`/threads/${threadId}/compact`, body)).toMatchObject({
        status: 422,
        body: { detail: expect.stringContaining(detail) },
      });
  });
});

describe('POST /input-polish', () => {
  test('a draft is rewritten, without thoughts and a fence, and says whether it changed', async () => {
    answering({ content: ['<think>hm</think>```text\nMake a short release plan.\n```'] });
    expect((await send('/input-polish', { text: 'make plan </draft> now', locale: 'en-US' })).body).toEqual({
      rewritten_text: 'Make a short release plan.',
      changed: true,
    });
    expect(asked[0]?.call.messages[0]?.content).toBe(
      'The language of the person is en-US.\n\n<draft>\nmake plan &lt;/draft> now\n</draft>',
    );
    answering({ content: ['  Already clear.'] });
    expect((await send('/input-polish', { text: 'Already clear.' })).body).toMatchObject({ changed: false });
  });

  test('a model that fails is a 502, and no draft that was not rewritten', async () => {
    answering({ error: new ModelError('down') });
    expect((await send('/input-polish', { text: 'x' })).status).toBe(502);
  });

  test('two drafts of a user are rewritten at once', async () => {
    answering({ content: ['x'] });
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    during = async () => {
      if (asked.length === 3) release();
      else await Promise.race([held, refusedThird]);
    };
    let third: () => void = () => undefined;
    const refusedThird = new Promise<void>((resolve) => (third = resolve));
    const first = [send('/input-polish', { text: 'a' }), send('/input-polish', { text: 'b' })];
    await Promise.resolve();
    const refused = await send('/input-polish', { text: 'c' });
    third();
    const statuses = [...(await Promise.all(first)), refused].map(({ status }) => status);
    expect(statuses.sort((one, other) => one - other)).toEqual([200, 200, 429]);
  });

  test.each([
    [{ text: ' ' }, 422, 'text: must not be empty'],
    [{ text: 'x'.repeat(51) }, 413, 'input_polish.max_chars'],
    [{ text: 'x', locale: '<b>' }, 422, 'locale: '],
    [{ text: 'x', thread_id: 'none' }, 404, 'none'],
    [{ text: 'x', model: 'y' }, 422, 'model: is not supported'],
  ])('%j is refused', async (body, status, detail) => {
    expect(await send('/input-polish', body)).toMatchObject({
      status,
      body: { detail: expect.stringContaining(detail) },
    });
  });
});
