import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BEFORE_FIRST_CHECKPOINT,
  type BranchReply,
  type EditReplayReply,
  type FeedPageReply,
  newId,
  type ReplayReply,
  type RunReply,
  type StateReply,
  type ThreadState,
} from '@caribou/contracts';
import { applyUpdate, type RunStore } from '@caribou/core';
import { userFiles } from '@caribou/files';
import { type RedisConnection, redisRunStore } from '@caribou/state';
import { ai } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';

const fixture = useGateways();
let redis: RedisConnection;
let runner: RunStore;
let gateway: OpenGateway;

beforeAll(async () => {
  redis = fixture.connectRedis();
  runner = redisRunStore(redis);
  gateway = await fixture.open({ env: { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' } });
}, 30_000);

async function ask<Body>(path: string, payload?: object, key = 'alice-key-1') {
  const method = payload === undefined ? 'GET' : 'POST';
  const url = `/api/threads${path}`;
  const reply = await gateway.app.inject({ method, url, ...(payload && { payload }), headers: { 'x-api-key': key } });
  return { status: reply.statusCode, body: reply.json<Body>() };
}

const newThread = async (): Promise<string> => (await ask<{ thread_id: string }>('', {})).body.thread_id;
const said = (text: string) => ({ messages: [{ type: 'human', content: [{ type: 'text', text }] }] });

/** Carries out what was admitted last, as a runner does: the input, then the answer. */
async function answer(threadId: string, text: string): Promise<void> {
  const claimed = await runner.claim({ userId: 'alice', threadId }, newId());
  if (claimed.kind !== 'run') throw new Error(claimed.kind);
  const { lease, run, head } = claimed;
  const fork = run.fork_checkpoint_id;
  const forkedFrom = fork === null ? undefined : await runner.loadCheckpoint(lease, fork);
  const asked = await runner.commit(lease, {
    head,
    next: ['model_request'],
    source: 'input',
    step: 0,
    events: [],
    inputCommitted: true,
    ...(forkedFrom && { forkedFrom }),
    state: applyUpdate((forkedFrom ?? head).state, run.kwargs.input ?? {}),
  });
  const state = applyUpdate(asked.head.state, { messages: [ai(text)] });
  const commit = { head: asked.head, state, next: [], source: 'loop', step: 1, events: [] } as const;
  await runner.finish(lease, { status: 'success', events: [], commit });
}

async function turn(threadId: string, text: string, body: object = { input: said(text) }): Promise<string> {
  const { status, body: run } = await ask<RunReply>(`/${threadId}/runs`, { assistant_id: 'lead_agent', ...body });
  if (status !== 200) throw new Error(JSON.stringify(run));
  await answer(threadId, `about ${text}`);
  return run.run_id;
}

const page = async (threadId: string, query = ''): Promise<FeedPageReply> =>
  (await ask<FeedPageReply>(`/${threadId}/messages/page${query}`)).body;
const wordsOf = ({ data }: FeedPageReply): string[] =>
  data.map(({ content: { content } }) => (typeof content === 'string' ? content : String(content.map(textOfBlock))));
const textOfBlock = (block: string | Readonly<Record<string, unknown>>): unknown =>
  typeof block === 'string' ? block : block['text'];
const idOf = async (threadId: string, words: string): Promise<string> => {
  const all = await page(threadId);
  return all.data[wordsOf(all).indexOf(words)]?.content.id ?? 'none';
};
const wordsInState = async (threadId: string): Promise<number> =>
  (await ask<{ values: { messages: unknown[] } }>(`/${threadId}/state`)).body.values.messages.length;

describe('messages', () => {
  test('come in pages from the newest on, and by run', async () => {
    const threadId = await newThread();
    expect(await page(threadId)).toEqual({ data: [], has_more: false, next_before_seq: null });
    const first = await turn(threadId, 'K2');
    await turn(threadId, 'Eiger');

    const newest = await page(threadId, '?limit=3');
    expect(wordsOf(newest)).toEqual(['about K2', 'Eiger', 'about Eiger']);
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
    const rest = await page(threadId, '?limit=3&before_seq=2');
    expect([wordsOf(rest), rest.has_more, rest.next_before_seq]).toEqual([['K2'], false, null]);
    const ofRun = await ask<FeedPageReply>(`/${threadId}/runs/${first}/messages`);
    expect(wordsOf(ofRun.body)).toEqual(['K2', 'about K2']);
    expect((await ask(`/${threadId}/messages`)).body).toEqual((await page(threadId)).data);
  });

  test("a run's last answer says how long its turn took, on every page and in the history", async () => {
    const threadId = await newThread();
    await turn(threadId, 'K2');
    await turn(threadId, 'Eiger');
    await ask(`/${threadId}/runs`, { assistant_id: 'lead_agent', input: said('Rigi') });
    const durations = ({ data }: FeedPageReply): unknown[] =>
      data.map(({ content: { additional_kwargs: marks } }) => marks['turn_duration']);

    expect(durations(await page(threadId))).toEqual([undefined, 1, undefined, 1]);
    expect(durations(await page(threadId, '?limit=1&before_seq=3'))).toEqual([1]);
    expect(durations(await page(threadId, '?limit=2&before_seq=4'))).toEqual([1, undefined]);
    const [newest] = (await ask<StateReply[]>(`/${threadId}/history`, { limit: 1 })).body;
    const { messages } = newest?.values as ThreadState;
    expect(messages.map(({ additional_kwargs: marks }) => marks['turn_duration'])).toEqual([
      undefined,
      1,
      undefined,
      1,
    ]);
    await answer(threadId, 'about Rigi');
  });

  test('bad cursors are refused, and what is not yours is not there', async () => {
    const threadId = await newThread();
    const asked = ['?limit=0', '?limit=201', '?before_seq=0', '?before_seq=x'].map((query) =>
      ask(`/${threadId}/messages/page${query}`),
    );
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([422, 422, 422, 422]);
    const others = [
      ask(`/${newId()}/messages/page`),
      ask(`/${threadId}/messages/page`, undefined, 'bob-key-123'),
      ask(`/${threadId}/messages`, undefined, 'bob-key-123'),
      ask(`/${threadId}/runs/${newId()}/messages`),
    ];
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  });
});

describe('regenerate', () => {
  const prepare = async (threadId: string, words: string) =>
    ask<ReplayReply>(`/${threadId}/runs/regenerate/prepare`, { message_id: await idOf(threadId, words) });

  test('gives what makes the turn anew: its place is taken in state and page, and the history keeps it', async () => {
    const threadId = await newThread();
    await turn(threadId, 'K2');
    const second = await turn(threadId, 'Eiger');
    await ask(`/${threadId}/state`, { values: { title: 'Mountains' } });

    const { body } = await prepare(threadId, 'about Eiger');
    const checkpointId = body.checkpoint.checkpoint_id;
    expect(body).toMatchObject({
      target_run_id: second,
      checkpoint: { checkpoint_ns: '', checkpoint_map: null },
      metadata: { regenerate_from_run_id: second, regenerate_checkpoint_id: checkpointId },
      input: { title: 'Mountains', messages: [{ id: await idOf(threadId, 'Eiger') }] },
    });
    const { target_run_id: _target, ...replay } = body;
    const again = await turn(threadId, 'Eiger, another one', replay);

    const after = await page(threadId);
    expect(wordsOf(after)).toEqual(['K2', 'about K2', 'Eiger', 'about Eiger, another one']);
    expect(after.data.map(({ seq, run_id }) => [seq, run_id === again])).toEqual([
      ...[1, 2].map((seq) => [seq, false]),
      ...[5, 6].map((seq) => [seq, true]),
    ]);
    expect(await wordsInState(threadId)).toBe(4);
    const { body: thread } = await ask(`/${threadId}`);
    expect(thread).toMatchObject({ values: { title: 'Mountains' } });
    const { body: history } = await ask<object[]>(`/${threadId}/history`, { limit: 100 });
    expect(JSON.stringify(history)).toContain('"about Eiger"');
  });

  test('the first turn is made anew from nothing', async () => {
    const threadId = await newThread();
    await turn(threadId, 'K2');

    const { body } = await prepare(threadId, 'about K2');
    expect(body.checkpoint.checkpoint_id).toBe(BEFORE_FIRST_CHECKPOINT);
    await turn(threadId, 'K2 again', body);
    await turn(threadId, 'K2 again and again', (await prepare(threadId, 'about K2 again')).body);

    expect(wordsOf(await page(threadId))).toEqual(['K2', 'about K2 again and again']);
    expect(await wordsInState(threadId)).toBe(2);
  });

  test('of two at once the first goes on and the other is refused', async () => {
    const threadId = await newThread();
    await turn(threadId, 'K2');
    const { body } = await prepare(threadId, 'about K2');
    const start = () => ask(`/${threadId}/runs`, { assistant_id: 'lead_agent', ...body });

    const statuses = (await Promise.all([start(), start()])).map(({ status }) => status);

    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 409]);
    expect((await prepare(threadId, 'about K2')).status).toBe(409);
    await answer(threadId, 'anew');
    expect(wordsOf(await page(threadId))).toEqual(['K2', 'anew']);
  });

  test('what cannot be made anew says why', async () => {
    const threadId = await newThread();
    const runId = await turn(threadId, 'K2');
    const ids = [await idOf(threadId, 'K2'), 'none', await idOf(threadId, 'about K2')];
    const asked = await Promise.all(
      ids.slice(0, 2).map((message_id) => ask(`/${threadId}/runs/regenerate/prepare`, { message_id })),
    );
    expect(asked.map(({ status }) => status)).toEqual([404, 404]);
    const others = { message_id: ids[2] };
    expect((await ask(`/${threadId}/runs/regenerate/prepare`, others, 'bob-key-123')).status).toBe(404);
    await gateway.app.inject({
      method: 'DELETE',
      url: `/api/threads/${threadId}/runs/${runId}`,
      headers: { 'x-api-key': 'alice-key-1' },
    });

    const gone = await ask<{ detail: string }>(`/${threadId}/runs/regenerate/prepare`, others);
    expect([gone.status, gone.body.detail]).toEqual([409, expect.stringContaining('run is not kept')]);
  });
});

describe('edit and regenerate', () => {
  test('other words take the place of a turn, and what came after them goes', async () => {
    const threadId = await newThread();
    await turn(threadId, 'K2');
    await turn(threadId, 'Eiger');
    await turn(threadId, 'Fuji');
    const source = await idOf(threadId, 'Eiger');

    const { body } = await ask<EditReplayReply>(`/${threadId}/runs/edit-regenerate/prepare`, {
      human_message_id: source,
      replacement_text: ' Monch ',
    });
    expect(body.source_message_ids).toEqual([source, await idOf(threadId, 'about Eiger')]);
    expect(body.input.messages).toMatchObject([
      { id: body.replacement_human_message_id, content: [{ type: 'text', text: 'Monch' }] },
    ]);
    await turn(threadId, 'Monch', body);

    expect(wordsOf(await page(threadId))).toEqual(['K2', 'about K2', 'Monch', 'about Monch']);
    expect(await wordsInState(threadId)).toBe(4);
    expect(await idOf(threadId, 'Monch')).toBe(body.replacement_human_message_id);
  });

  test('no words, and a message of the model, are refused', async () => {
    const threadId = await newThread();
    await turn(threadId, 'K2');
    const edit = async (words: string, replacement_text: string) =>
      (
        await ask(`/${threadId}/runs/edit-regenerate/prepare`, {
          human_message_id: await idOf(threadId, words),
          replacement_text,
        })
      ).status;

    expect([await edit('K2', '  '), await edit('about K2', 'x')]).toEqual([422, 404]);
  });
});

describe('branches', () => {
  const branch = async (threadId: string, words: string, more: object = {}) =>
    ask<BranchReply>(`/${threadId}/branches`, { message_id: await idOf(threadId, words), ...more });

  async function upload(threadId: string, name: string): Promise<void> {
    const intake = await userFiles(fixture.home).openIntake({ userId: 'alice', threadId });
    const staged = await intake.receive(
      (async function* () {
        yield await Promise.resolve(Buffer.from(`content of ${name}`));
      })(),
      100,
    );
    await staged.publish(name);
    await intake.close();
  }

  test('the last turn comes with everything, and the two go on apart', async () => {
    const threadId = await newThread();
    await turn(threadId, 'K2');
    await upload(threadId, 'map.txt');

    const { body } = await branch(threadId, 'about K2', { title: 'Other way' });
    expect(body).toMatchObject({
      parent_thread_id: threadId,
      branched_from_message_id: await idOf(threadId, 'about K2'),
      workspace_clone_mode: 'current_thread_best_effort',
      history_seed_mode: 'seeded',
    });
    const copied = join(fixture.home, 'users', 'alice', 'threads', body.thread_id, 'user-data', 'uploads', 'map.txt');
    expect(readFileSync(copied, 'utf8')).toBe('content of map.txt');
    await turn(body.thread_id, 'Eiger');

    expect(wordsOf(await page(body.thread_id))).toEqual(['K2', 'about K2', 'Eiger', 'about Eiger']);
    expect(wordsOf(await page(threadId))).toEqual(['K2', 'about K2']);
    expect((await ask(`/${body.thread_id}`)).body).toMatchObject({
      values: { title: 'Other way' },
      metadata: { deerflow_branch: true, branch_parent_thread_id: threadId },
    });
  });

  test('an older turn comes without what was said and made after it', async () => {
    const threadId = await newThread();
    await turn(threadId, 'K2', { input: { ...said('K2'), title: 'first' } });
    await turn(threadId, 'Eiger', {
      input: { ...said('Eiger'), title: 'second', artifacts: ['/mnt/user-data/outputs/x'] },
    });
    await upload(threadId, 'late.txt');

    const { body } = await branch(threadId, 'about K2');
    expect(body.workspace_clone_mode).toBe('skipped_historical_turn');
    expect(await wordsInState(body.thread_id)).toBe(2);
    const { body: thread } = await ask<{ values: object; status: string }>(`/${body.thread_id}`);
    expect(thread).toMatchObject({ status: 'idle', values: { title: 'first' } });
    expect(thread.values).not.toHaveProperty('artifacts');
    await turn(body.thread_id, 'Fuji');

    expect(wordsOf(await page(body.thread_id))).toEqual(['K2', 'about K2', 'Fuji', 'about Fuji']);
    expect((await ask<object[]>(`/${body.thread_id}/history`, { limit: 100 })).body).toHaveLength(4);
  });

  test('not from a message that is not there, is a person’s or another user’s, nor while a run is in flight', async () => {
    const threadId = await newThread();
    await turn(threadId, 'K2');
    const id = await idOf(threadId, 'about K2');
    const refused = [
      await branch(threadId, 'K2'),
      await branch(threadId, 'nothing'),
      await ask(`/${threadId}/branches`, { message_id: id }, 'bob-key-123'),
    ];
    await ask(`/${threadId}/runs`, { assistant_id: 'lead_agent', input: said('more') });
    refused.push(await branch(threadId, 'about K2'));

    expect(refused.map(({ status }) => status)).toEqual([404, 404, 404, 409]);
  });
});
