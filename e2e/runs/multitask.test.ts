import { waitFor } from '@caribou/testing';
import { type ApiClient, type Frame, lastValues, runBody, runIdOf, type WireMessage } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';

let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  stack = await startStack({ gateways: 2, runners: 2 });
  client = stack.client();
});

afterAll(() => stack.stop());
afterEach(() => stack.model.reset());

interface StateBody {
  readonly values: { readonly messages?: readonly WireMessage[]; readonly title?: string };
  readonly checkpoint: { readonly checkpoint_id: string } | null;
}

const stateOf = async (threadId: string): Promise<StateBody> =>
  (await client.call<StateBody>('GET', `/threads/${threadId}/state`)).body;
const contentsOf = async (threadId: string): Promise<unknown[]> =>
  ((await stateOf(threadId)).values.messages ?? []).map((message) => message.content);
const statusOf = async (threadId: string, runId: string): Promise<unknown> =>
  (await client.call<{ status?: string }>('GET', `/threads/${threadId}/runs/${runId}`)).body.status;
const isWord = (word: string) => (frame: Frame) =>
  frame.event === 'messages' && JSON.stringify(frame.data).includes(word);
const headOf = async (threadId: string) => ({
  checkpoint_ns: '',
  checkpoint_id: (await stateOf(threadId)).checkpoint?.checkpoint_id ?? '',
  checkpoint_map: null,
});
const enqueue = { multitask_strategy: 'enqueue' };

const HELD = (): string => `${nonce()}\n#hold gate after 1\n#say First answer.`;

async function heldRun(threadId: string, script: string, options: Record<string, unknown> = {}) {
  const stream = await client.run(threadId, script, options);
  await stream.waitFor('a word', isWord('First'));
  return stream;
}

describe('a second run while one is in flight', () => {
  test('reject: refused with 409, the first continues; of many at once exactly one wins', async () => {
    const threadId = await client.newThread();
    const script = HELD();
    const first = await heldRun(threadId, script);

    const refused = await client.call('POST', `/threads/${threadId}/runs`, runBody('#say Second.'));

    expect(refused.status).toBe(409);
    expect(refused.body).toEqual({ detail: expect.stringContaining('already running') });
    stack.model.release('gate');
    expect(lastValues(await first.end()).at(-1)?.content).toBe('First answer.');
    const other = await client.newThread();
    const many = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        stack.client(index % 2).call('POST', `/threads/${other}/runs`, runBody('#delay 300\n#say One.')),
      ),
    );
    expect(many.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      200,
      ...Array.from({ length: 7 }, () => 409),
    ]);
  });

  test('interrupt: the first ends interrupted and its message remains, the second follows', async () => {
    const threadId = await client.newThread();
    const script = HELD();
    const first = await heldRun(threadId, script);

    const second = await client.run(threadId, '#say Second answer.', { multitask_strategy: 'interrupt' });

    const frames = await second.end();
    expect(lastValues(frames).map((message) => message.content)).toEqual([
      script,
      '#say Second answer.',
      'Second answer.',
    ]);
    expect((await first.end()).at(-1)?.event).toBe('end');
    expect(await statusOf(threadId, runIdOf(first))).toBe('interrupted');
  });

  test('rollback: the first leaves no trace, the second starts from the state before it', async () => {
    const threadId = await client.newThread();
    await (await client.run(threadId, '#say Before.')).end();
    const before = await stateOf(threadId);
    const first = await heldRun(threadId, HELD());

    const second = await client.run(threadId, '#say Second answer.', { multitask_strategy: 'rollback' });

    const contents = lastValues(await second.end()).map((message) => message.content);
    expect(contents).toEqual(['#say Before.', 'Before.', '#say Second answer.', 'Second answer.']);
    expect((await first.end()).at(-1)?.event).toBe('end');
    expect((await client.call('GET', `/threads/${threadId}/runs/${runIdOf(first)}`)).status).toBe(404);
    const history = await client.call<StateBody[]>('POST', `/threads/${threadId}/history`, { limit: 100 });
    const remaining = history.body.map((entry) => entry.checkpoint?.checkpoint_id);
    expect(remaining).toContain(before.checkpoint?.checkpoint_id);
    expect(JSON.stringify(history.body)).not.toContain('First answer');
  });

  test('enqueue: runs wait in order, a queued one can be cancelled', async () => {
    const threadId = await client.newThread();
    const script = HELD();
    const first = await heldRun(threadId, script);
    const second = await client.run(threadId, '#say Second.', enqueue);
    const third = await client.run(threadId, '#say Third.', enqueue);
    const fourth = await client.run(threadId, '#say Fourth.', enqueue);

    expect(await statusOf(threadId, runIdOf(third))).toBe('pending');
    const cancelled = await client.call('POST', `/threads/${threadId}/runs/${runIdOf(third)}/cancel?wait=1`);
    expect(cancelled.status).toBe(204);
    stack.model.release('gate');

    await Promise.all([first.end(), second.end(), fourth.end()]);
    expect((await third.end()).at(-1)?.event).toBe('end');
    expect(await statusOf(threadId, runIdOf(third))).toBe('interrupted');
    expect(await contentsOf(threadId)).toEqual([
      script,
      'First answer.',
      '#say Second.',
      'Second.',
      '#say Fourth.',
      'Fourth.',
    ]);
  });

  test('rollback of a running and of queued runs restores exactly what was before', async () => {
    const threadId = await client.newThread();
    await (await client.run(threadId, '#say Before.')).end();
    const before = await stateOf(threadId);
    const running = await heldRun(threadId, HELD());
    const queued = await client.run(threadId, '#say Queued.', enqueue);

    await client.call('POST', `/threads/${threadId}/runs/${runIdOf(queued)}/cancel?wait=1&action=rollback`);
    const cancelled = await client.call(
      'POST',
      `/threads/${threadId}/runs/${runIdOf(running)}/cancel?wait=1&action=rollback`,
    );

    expect(cancelled.status).toBe(204);
    expect((await running.end()).at(-1)?.event).toBe('end');
    expect((await queued.end()).at(-1)?.event).toBe('end');
    expect(await stateOf(threadId)).toEqual(before);
  });
});

describe('requests of a page', () => {
  test('stop, then send at once: the message is accepted although the stop is not complete', async () => {
    const threadId = await client.newThread();
    const script = HELD();
    const first = await heldRun(threadId, script);

    const stopped = await client.call(
      'POST',
      `/threads/${threadId}/runs/${runIdOf(first)}/cancel?wait=0&action=interrupt`,
    );
    const second = await client.run(threadId, '#say Second answer.');

    expect(stopped.status).toBe(202);
    const contents = lastValues(await second.end()).map((message) => message.content);
    expect(contents).toEqual([script, '#say Second answer.', 'Second answer.']);
  });

  test.each(['interrupt', 'enqueue'])(
    'a stale checkpoint with %s continues from the head at the start',
    async (strategy) => {
      const threadId = await client.newThread();
      await (await client.run(threadId, '#say Before.')).end();
      const seen = await headOf(threadId);
      const script = HELD();
      const first = await heldRun(threadId, script);

      const second = await client.run(threadId, '#say Second.', { multitask_strategy: strategy, checkpoint: seen });
      stack.model.release('gate');
      await Promise.all([first.end(), second.end()]);

      const contents = await contentsOf(threadId);
      expect(contents.slice(0, 3)).toEqual(['#say Before.', 'Before.', script]);
      expect(contents.slice(-2)).toEqual(['#say Second.', 'Second.']);
      if (strategy === 'enqueue') expect(contents[3]).toBe('First answer.');
    },
  );

  test('a rename between two turns survives the turn that still names the older checkpoint', async () => {
    const threadId = await client.newThread();
    await (await client.run(threadId, '#say Before.')).end();
    const seen = await headOf(threadId);

    const renamed = await client.call('POST', `/threads/${threadId}/state`, { values: { title: 'My own name' } });
    const second = await client.run(threadId, '#say Second.', { checkpoint: seen });
    await second.end();

    expect(renamed.status).toBe(200);
    expect((await stateOf(threadId)).values.title).toBe('My own name');
    expect(await contentsOf(threadId)).toEqual(['#say Before.', 'Before.', '#say Second.', 'Second.']);
    const found = await client.call<{ thread_id: string; values: { title: string } }[]>('POST', '/threads/search', {
      limit: 5,
      sort_by: 'updated_at',
      sort_order: 'desc',
    });
    expect(found.body[0]).toMatchObject({ thread_id: threadId, values: { title: 'My own name' } });
  });

  test('an older checkpoint forks, the head retains its history', async () => {
    const threadId = await client.newThread();
    await (await client.run(threadId, '#say One.')).end();
    const seen = await headOf(threadId);
    await (await client.run(threadId, '#say Two.')).end();

    await (await client.run(threadId, '#say Three.', { checkpoint: seen })).end();

    expect(await contentsOf(threadId)).toEqual(['#say One.', 'One.', '#say Three.', 'Three.']);
    const history = await client.call('POST', `/threads/${threadId}/history`, { limit: 100 });
    expect(JSON.stringify(history.body)).toContain('"Two."');
  });

  test('an unknown checkpoint is a 404 and nothing is stored', async () => {
    const threadId = await client.newThread();

    const refused = await client.call(
      'POST',
      `/threads/${threadId}/runs`,
      runBody('#say X.', { checkpoint: { checkpoint_id: '00000000-0000-7000-8000-000000000000' } }),
    );

    expect(refused.status).toBe(404);
    expect((await client.call('GET', `/threads/${threadId}/runs`)).body).toEqual([]);
    await waitFor(
      async () => (await client.call<{ status: string }>('GET', `/threads/${threadId}`)).body.status === 'idle',
      { what: 'an idle thread' },
    );
  });
});
