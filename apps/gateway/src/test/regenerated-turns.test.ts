import {
  BEFORE_FIRST_CHECKPOINT,
  type EditReplayReply,
  newId,
  type ReplayReply,
  type RunReply,
} from '@caribou/contracts';
import { ai } from '@caribou/testing';
import { useGateways } from '../testing/gateway-fixture.js';
import { said, textsOf, type ThreadClient, useThreadClient } from '../testing/thread-client.js';

let client: ThreadClient;

const fixture = useGateways();

/** Removes the kwargs of all runs, as their deadline does. */
async function expireKwargs(): Promise<void> {
  await fixture.connectRedis().use(async (redis) => redis.del(await redis.keys('*:kwargs')));
}

useThreadClient(
  fixture,
  (opened) => {
    client = opened;
  },
  {
    user: { userId: 'alice', key: 'alice-key-1' },
    env: { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' },
  },
);

describe('regenerate', () => {
  const prepare = async (threadId: string, words: string) =>
    client.ask<ReplayReply>(`/${threadId}/runs/regenerate/prepare`, { message_id: await client.idOf(threadId, words) });

  test('returns what runs the turn again: the new turn replaces it in state and page, not in the history', async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2');
    const second = await client.turn(threadId, 'Eiger');
    await client.ask(`/${threadId}/state`, { values: { title: 'Mountains' } });

    const { body } = await prepare(threadId, 'about Eiger');
    const checkpointId = body.checkpoint.checkpoint_id;
    expect(body).toMatchObject({
      target_run_id: second,
      checkpoint: { checkpoint_ns: '', checkpoint_map: null },
      metadata: { regenerate_from_run_id: second, regenerate_checkpoint_id: checkpointId },
      input: { title: 'Mountains', messages: [{ id: await client.idOf(threadId, 'Eiger') }] },
    });
    const { target_run_id: _target, ...replay } = body;
    const again = await client.turn(threadId, 'Eiger, another one', replay);

    const after = await client.page(threadId);
    expect(textsOf(after)).toEqual(['K2', 'about K2', 'Eiger', 'about Eiger, another one']);
    expect(after.data.map(({ seq, run_id }) => [seq, run_id === again])).toEqual([
      ...[1, 2].map((seq) => [seq, false]),
      ...[5, 6].map((seq) => [seq, true]),
    ]);
    expect(await client.countMessages(threadId)).toBe(4);
    const { body: thread } = await client.ask(`/${threadId}`);
    expect(thread).toMatchObject({ values: { title: 'Mountains' } });
    const { body: history } = await client.ask<object[]>(`/${threadId}/history`, { limit: 100 });
    expect(JSON.stringify(history)).toContain('"about Eiger"');
  });

  test('the first turn is regenerated from an empty state', async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2');

    const { body } = await prepare(threadId, 'about K2');
    expect(body.checkpoint.checkpoint_id).toBe(BEFORE_FIRST_CHECKPOINT);
    await client.turn(threadId, 'K2 again', body);
    await client.turn(threadId, 'K2 again and again', (await prepare(threadId, 'about K2 again')).body);

    expect(textsOf(await client.page(threadId))).toEqual(['K2', 'about K2 again and again']);
    expect(await client.countMessages(threadId)).toBe(2);
  });

  test('a turn whose request has expired is regenerated from what is stored of the thread', async () => {
    const threadId = await client.newThread();
    const body = { input: { messages: [{ type: 'system', content: 'Be brief.' }, ...said('K2').messages] } };
    await client.turn(threadId, 'K2', body);
    const last = await client.turn(threadId, 'Eiger');
    const asked = await Promise.all([prepare(threadId, 'about K2'), prepare(threadId, 'about Eiger')]);

    await expireKwargs();

    expect(await Promise.all([prepare(threadId, 'about K2'), prepare(threadId, 'about Eiger')])).toEqual(asked);
    expect(asked[0].body.input.messages).toHaveLength(2);
    const { body: run } = await client.ask<RunReply>(`/${threadId}/runs/${last}`);
    expect([run.status, run.kwargs['input'], Object.keys(run.kwargs)]).toEqual(['success', undefined, ['config']]);
  });

  test('of two at once the first is executed and the other is refused', async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2');
    const { body } = await prepare(threadId, 'about K2');
    const start = () => client.ask(`/${threadId}/runs`, { assistant_id: 'lead_agent', ...body });

    const statuses = (await Promise.all([start(), start()])).map(({ status }) => status);

    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 409]);
    expect((await prepare(threadId, 'about K2')).status).toBe(409);
    await client.execute(threadId, { messages: [ai('anew')] });
    expect(textsOf(await client.page(threadId))).toEqual(['K2', 'anew']);
  });

  test('a turn that cannot be regenerated is refused with the reason', async () => {
    const threadId = await client.newThread();
    const runId = await client.turn(threadId, 'K2');
    const ids = [await client.idOf(threadId, 'K2'), 'none', await client.idOf(threadId, 'about K2')];
    const asked = await Promise.all(
      ids.slice(0, 2).map((message_id) => client.ask(`/${threadId}/runs/regenerate/prepare`, { message_id })),
    );
    expect(asked.map(({ status }) => status)).toEqual([404, 404]);
    const others = { message_id: ids[2] };
    expect((await client.ask(`/${threadId}/runs/regenerate/prepare`, others, 'bob-key-123')).status).toBe(404);
    await client.gateway.app.inject({
      method: 'DELETE',
      url: `/api/threads/${threadId}/runs/${runId}`,
      headers: { 'x-api-key': 'alice-key-1' },
    });

    const gone = await client.ask<{ detail: string }>(`/${threadId}/runs/regenerate/prepare`, others);
    expect([gone.status, gone.body.detail]).toEqual([409, expect.stringContaining('run is no longer stored')]);
  });
});

describe('edit and regenerate', () => {
  test('a new text replaces a turn, and later turns are removed', async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2');
    await client.turn(threadId, 'Eiger');
    await client.turn(threadId, 'Fuji');
    const source = await client.idOf(threadId, 'Eiger');

    const { body } = await client.ask<EditReplayReply>(`/${threadId}/runs/edit-regenerate/prepare`, {
      human_message_id: source,
      replacement_text: ' Monch ',
    });
    expect(body.source_message_ids).toEqual([source, await client.idOf(threadId, 'about Eiger')]);
    expect(body.input.messages).toMatchObject([
      { id: body.replacement_human_message_id, content: [{ type: 'text', text: 'Monch' }] },
    ]);
    await client.turn(threadId, 'Monch', body);

    expect(textsOf(await client.page(threadId))).toEqual(['K2', 'about K2', 'Monch', 'about Monch']);
    expect(await client.countMessages(threadId)).toBe(4);
    expect(await client.idOf(threadId, 'Monch')).toBe(body.replacement_human_message_id);
  });

  test('an empty text and a message of the model are refused', async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2');
    const edit = async (words: string, replacement_text: string) =>
      (
        await client.ask(`/${threadId}/runs/edit-regenerate/prepare`, {
          human_message_id: await client.idOf(threadId, words),
          replacement_text,
        })
      ).status;

    expect([await edit('K2', '  '), await edit('about K2', 'x')]).toEqual([422, 404]);
  });
});

describe('a turn whose first checkpoint was removed', () => {
  const prune = async (threadId: string): Promise<void> => {
    const { body } = await client.gateway.app.inject({
      method: 'POST',
      url: '/api/threads/prune',
      payload: { thread_ids: [threadId], strategy: 'keep_latest' },
      headers: { 'x-api-key': 'alice-key-1' },
    });
    expect(JSON.parse(body)).toEqual({ pruned_count: 1 });
  };
  const prepare = async (threadId: string) => {
    const [answer, question] = [await client.idOf(threadId, 'about Eiger'), await client.idOf(threadId, 'Eiger')];
    return [
      await client.ask<ReplayReply & { detail: string }>(`/${threadId}/runs/regenerate/prepare`, {
        message_id: answer,
      }),
      await client.ask<EditReplayReply & { detail: string }>(`/${threadId}/runs/edit-regenerate/prepare`, {
        human_message_id: question,
        replacement_text: 'Monch',
      }),
    ] as const;
  };

  test.each(['stored', 'expired'])(
    'is not prepared, while its request is %s: 409 says what is missing',
    async (state) => {
      const threadId = await client.newThread();
      await client.turn(threadId, 'K2');
      await client.turn(threadId, 'Eiger');
      const [{ body: before }] = await prepare(threadId);
      await prune(threadId);
      if (state === 'expired') await expireKwargs();

      for (const { status, body } of await prepare(threadId)) {
        expect([status, body.detail]).toEqual([409, expect.stringContaining(before.checkpoint.checkpoint_id)]);
        expect(body.detail).toContain('send the message as a new turn');
      }
    },
  );

  test('does not begin when it was prepared before: 409, and nothing of the thread has changed', async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2');
    await client.turn(threadId, 'Eiger');
    const prepared = await prepare(threadId);
    await prune(threadId);

    for (const { body } of prepared) {
      const { status, body: refused } = await client.start(threadId, body);
      expect([status, refused.detail]).toEqual([409, expect.stringContaining(body.checkpoint.checkpoint_id)]);
      expect(refused.detail).toContain('send the message as a new turn');
    }
    await client.turn(threadId, 'Monch');
    expect(textsOf(await client.page(threadId))).toEqual([
      'K2',
      'about K2',
      'Eiger',
      'about Eiger',
      'Monch',
      'about Monch',
    ]);
  });

  test('another run from a checkpoint that is not stored is refused as before: there is no such thing', async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2');
    expect(await client.start(threadId, { input: said('x'), checkpoint_id: newId() })).toMatchObject({ status: 404 });
  });
});
