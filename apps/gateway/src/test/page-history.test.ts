import { type FeedPageReply, newId, type StateReply, type ThreadState } from '@caribou/contracts';
import { ai } from '@caribou/testing';
import { useGateways } from '../testing/gateway-fixture.js';
import { said, textsOf, type ThreadClient, useThreadClient } from '../testing/thread-client.js';

let client: ThreadClient;

const fixture = useGateways();

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

describe('messages', () => {
  test('come in pages from the newest one, and by run', async () => {
    const threadId = await client.newThread();
    expect(await client.page(threadId)).toEqual({ data: [], has_more: false, next_before_seq: null });
    const first = await client.turn(threadId, 'K2');
    await client.turn(threadId, 'Eiger');

    const newest = await client.page(threadId, '?limit=3');
    expect(textsOf(newest)).toEqual(['about K2', 'Eiger', 'about Eiger']);
    expect(newest).toMatchObject({ has_more: true, next_before_seq: 2 });
    expect(newest.data[0]).toEqual({
      run_id: first,
      seq: 2,
      metadata: { caller: 'lead_agent' },
      event_type: 'llm.ai.response',
      feedback: null,
      content: expect.objectContaining({ type: 'ai', content: 'about K2' }) as object,
      created_at: expect.stringMatching(/^\d{4}-/) as string,
    });
    const rest = await client.page(threadId, '?limit=3&before_seq=2');
    expect([textsOf(rest), rest.has_more, rest.next_before_seq]).toEqual([['K2'], false, null]);
    const ofRun = await client.ask<FeedPageReply>(`/${threadId}/runs/${first}/messages`);
    expect(textsOf(ofRun.body)).toEqual(['K2', 'about K2']);
    expect((await client.ask(`/${threadId}/messages`)).body).toEqual((await client.page(threadId)).data);
  });

  test("a run's last answer says how long its turn took, on every page and in the history", async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2');
    await client.turn(threadId, 'Eiger');
    await client.ask(`/${threadId}/runs`, { assistant_id: 'lead_agent', input: said('Rigi') });
    const durations = ({ data }: FeedPageReply): unknown[] =>
      data.map(({ content: { additional_kwargs: marks } }) => marks['turn_duration']);

    expect(durations(await client.page(threadId))).toEqual([undefined, 1, undefined, 1]);
    expect(durations(await client.page(threadId, '?limit=1&before_seq=3'))).toEqual([1]);
    expect(durations(await client.page(threadId, '?limit=2&before_seq=4'))).toEqual([1, undefined]);
    const [newest] = (await client.ask<StateReply[]>(`/${threadId}/history`, { limit: 1 })).body;
    const { messages } = newest?.values as ThreadState;
    expect(messages.map(({ additional_kwargs: marks }) => marks['turn_duration'])).toEqual([
      undefined,
      1,
      undefined,
      1,
    ]);
    await client.execute(threadId, { messages: [ai('about Rigi')] });
  });

  test('bad cursors are refused, and what is not yours is not there', async () => {
    const threadId = await client.newThread();
    const asked = ['?limit=0', '?limit=201', '?before_seq=0', '?before_seq=x'].map((query) =>
      client.ask(`/${threadId}/messages/page${query}`),
    );
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([422, 422, 422, 422]);
    const others = [
      client.ask(`/${newId()}/messages/page`),
      client.ask(`/${threadId}/messages/page`, undefined, 'bob-key-123'),
      client.ask(`/${threadId}/messages`, undefined, 'bob-key-123'),
      client.ask(`/${threadId}/runs/${newId()}/messages`),
    ];
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  });
});
