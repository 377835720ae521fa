import { EDITED } from '@caribou/contracts';
import { ai } from '@caribou/testing';
import { useGateways } from '../testing/gateway-fixture.js';
import { textsOf, type ThreadClient, useThreadClient } from '../testing/thread-client.js';

const KEYS = { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-1:bob' };

const fixture = useGateways();
let alice: ThreadClient;
let strict: ThreadClient;

const user = { userId: 'alice', key: 'alice-key-1' };
useThreadClient(fixture, (client) => (alice = client), { env: KEYS, user });
useThreadClient(fixture, (client) => (strict = client), {
  env: KEYS,
  user,
  config: 'client_messages:\n  edit_answers: false\n',
});

interface State {
  readonly values: {
    readonly messages: readonly { id: string; content: string; additional_kwargs: Record<string, unknown> }[];
  };
}

const stateOf = async (threadId: string) => (await alice.ask<State>(`/${threadId}/state`)).body.values.messages;
const update = (threadId: string, messages: readonly object[], more: object = {}, client = alice) =>
  client.ask<{ detail?: string }>(`/${threadId}/state`, { values: { messages }, ...more });

async function answered(): Promise<{ threadId: string; answer: string }> {
  const threadId = await alice.newThread();
  await alice.turn(threadId, 'one');
  return { threadId, answer: (await stateOf(threadId))[1]?.id ?? '' };
}

describe('edits of messages', () => {
  test('an answer gets its new content under its id, in the state and the timeline, with who and when', async () => {
    const { threadId, answer } = await answered();
    const sent = { type: 'ai', id: answer, content: 'better', additional_kwargs: { [EDITED]: { by: 'bob' } } };

    expect((await update(threadId, [sent])).status).toBe(200);
    const edited = (await stateOf(threadId))[1];
    expect(edited).toMatchObject({ id: answer, content: 'better' });
    expect(edited?.additional_kwargs[EDITED]).toEqual({ by: 'alice', at: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(textsOf(await alice.page(threadId))).toEqual(['one', 'better']);
    await alice.turn(threadId, 'two');
    expect((await stateOf(threadId)).map(({ content }) => content).slice(1)).toEqual([
      'better',
      expect.anything(),
      'about two',
    ]);
  });

  test('a removed message leaves state and timeline, and is still in earlier checkpoints', async () => {
    const { threadId, answer } = await answered();
    const before = (await alice.ask<{ checkpoint: { checkpoint_id: string } }>(`/${threadId}/state`)).body.checkpoint;

    expect((await update(threadId, [{ type: 'remove', id: answer }])).status).toBe(200);
    expect(await stateOf(threadId)).toHaveLength(1);
    expect(textsOf(await alice.page(threadId))).toEqual(['one']);
    expect((await alice.ask<State>(`/${threadId}/state/${before.checkpoint_id}`)).body.values.messages).toHaveLength(2);
    await alice.turn(threadId, 'two');
    expect(textsOf(await alice.page(threadId))).toEqual(['one', 'two', 'about two']);
    expect((await update(threadId, [{ type: 'remove', id: '__remove_all__' }])).status).toBe(200);
    expect([await stateOf(threadId), (await alice.page(threadId)).data]).toEqual([[], []]);
  });

  test('two edits at once are both stored, the second on what the first left', async () => {
    const { threadId, answer } = await answered();
    await alice.turn(threadId, 'two');
    const second = (await stateOf(threadId))[3]?.id ?? '';
    const both = await Promise.all([
      update(threadId, [{ type: 'ai', id: answer, content: 'A' }]),
      update(threadId, [{ type: 'ai', id: second, content: 'B' }]),
    ]);

    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    const messages = await stateOf(threadId);
    expect([messages[1]?.content, messages[3]?.content]).toEqual(['A', 'B']);
  });

  test('a thread or an installation refuses edits, not messages of the client', async () => {
    const { threadId, answer } = await answered();
    const edit = [{ type: 'ai', id: answer, content: 'x' }];
    await alice.gateway.app.inject({
      method: 'PATCH',
      url: `/api/threads/${threadId}`,
      headers: { 'x-api-key': 'alice-key-1' },
      payload: { metadata: { message_edits: false } },
    });

    expect(await update(threadId, edit)).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('metadata.message_edits') },
    });
    expect(await update(threadId, edit, {}, strict)).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('client_messages.edit_answers') },
    });
    expect((await update(threadId, [{ type: 'human', content: 'mine' }], {}, strict)).status).toBe(200);
    expect((await stateOf(threadId))[1]?.content).toBe('about one');
  });

  test('edits are refused while a run is under way, of threads of others, and of what is not there', async () => {
    const { threadId, answer } = await answered();
    const edit = [{ type: 'ai', id: answer, content: 'x' }];
    const asBob = await alice.ask(`/${threadId}/state`, { values: { messages: edit } }, 'bob-key-1');
    await alice.start(threadId, { input: { messages: 'x' } });

    expect(asBob.status).toBe(404);
    expect((await update(threadId, edit)).status).toBe(409);
    await alice.execute(threadId, { messages: [ai('done')] });
    expect(await update(threadId, [{ type: 'ai', id: 'none', content: 'x' }])).toMatchObject({
      status: 422,
      body: { detail: 'values.messages.0: the state of the thread has no message with this id' },
    });
    expect(await update(threadId, [{ type: 'ai', content: 'x' }])).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('values.messages.0.id: must be the id') },
    });
  });

  test('as_node is a node of the graph', async () => {
    const { threadId } = await answered();

    expect(await update(threadId, [{ type: 'human', content: 'x' }], { as_node: 'agent' })).toMatchObject({
      status: 422,
      body: { detail: 'as_node: must be one of __start__, model_request, tools, __end__' },
    });
    expect((await update(threadId, [{ type: 'human', content: 'x' }], { as_node: '__start__' })).status).toBe(200);
    expect((await alice.ask<{ next: string[] }>(`/${threadId}/state`)).body.next).toEqual(['model_request']);
  });
});
