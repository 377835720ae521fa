import { silentLogger } from '@caribou/core';
import { createRedis, type RedisConnection } from '@caribou/state';
import { processesWith, waitFor } from '@caribou/testing';
import { type ApiClient, runIdOf } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import { endOf, requestsOfTasks, taskLines, type TaskRequest, WITH_SUBAGENTS } from '../support/task-client.js';

jest.setTimeout(120_000);

let stack: Stack;
let client: ApiClient;
let redis: RedisConnection;

beforeAll(async () => {
  stack = await startStack({ pools: 1 });
  client = stack.client();
  redis = createRedis({ url: stack.redis.url, logger: silentLogger });
});
afterAll(async () => {
  await redis.close();
  await stack.stop();
});
afterEach(() => stack.model.reset());

/** All keys of tasks in the store, without what has a deadline of its own: the leases of the pools and the order of users. */
const leftovers = async (): Promise<readonly string[]> => {
  const keys = await redis.use((connection) => connection.keys('caribou:tasks:*'));
  return keys.filter((key) => !/^caribou:tasks:(processes:|slots:served$)/.test(key));
};

const nothingIsLeft = async (): Promise<boolean> => (await leftovers()).length === 0;

/** A run with two tasks, of which the second waits in a model call. */
async function twoTasks(first: string) {
  const threadId = await client.newThread();
  const word = nonce();
  const works = [first, '#tool ls {}\n#hold gate\n#say Never.'];
  const script = taskLines(...works.map((rest) => `${word}\n${rest}`));
  const stream = await client.run(threadId, `${script}\n#say Never.`, WITH_SUBAGENTS);
  return { threadId, runId: runIdOf(stream), word };
}

const cancelled = (threadId: string, runId: string, action: string) =>
  client.call('POST', `/threads/${threadId}/runs/${runId}/cancel?wait=1&action=${action}`);
const removed = async (threadId: string): Promise<number> =>
  (await client.call('DELETE', `/threads/${threadId}`)).status;

describe('leftovers of tasks', () => {
  test('none of ended tasks once their thread is deleted', async () => {
    const threadId = await client.newThread();
    const script = `${taskLines(...['a', 'b'].map((name) => `${nonce()}\n#tool ls {}\n#say ${name}.`))}\n#say Done.`;
    await endOf(client, threadId, await client.run(threadId, script, WITH_SUBAGENTS));
    expect(await leftovers()).not.toEqual([]);

    expect(await removed(threadId)).toBe(204);

    expect(await leftovers()).toEqual([]);
  });

  test.each(['interrupt', 'rollback'])(
    'a thread is not deleted under its tasks; after %s it is, and nothing is left',
    async (action) => {
      const seconds = String(100_000 + Math.floor(Math.random() * 800_000));
      const command = JSON.stringify({ description: 'waits', command: `sleep ${seconds}` });
      const { threadId, runId } = await twoTasks(`#tool bash ${command}\n#say Never.`);
      await waitFor(() => processesWith(seconds).length > 0 && stack.model.listHolds().length === 1, {
        what: 'a command and a model call under way',
      });
      expect(await removed(threadId)).toBe(409);

      expect((await cancelled(threadId, runId, action)).status).toBe(204);

      await waitFor(async () => (await removed(threadId)) === 204, { what: 'the thread to be deleted' });
      await waitFor(nothingIsLeft, { what: 'nothing to be left' });
      await waitFor(() => processesWith(seconds).length === 0, { what: 'the command to end' });
    },
  );

  test('none when a pool was paused while thread and run were removed: it ends their tasks', async () => {
    const { threadId, runId, word } = await twoTasks('#hold gate\n#say Never.');
    await waitFor(() => stack.model.listHolds().length === 2, { what: 'two model calls under way' });
    const pool = nth(stack.pools, 0);
    pool.pause();
    expect((await cancelled(threadId, runId, 'rollback')).status).toBe(204);
    await waitFor(async () => (await removed(threadId)) === 204, { what: 'the thread to be deleted' });
    expect(await nothingIsLeft()).toBe(false);

    pool.resume();

    const isClosed = ({ closedByClient }: TaskRequest): boolean => closedByClient;
    await waitFor(() => requestsOfTasks(stack, word).filter(isClosed).length === 2, { what: 'the calls to be closed' });
    await waitFor(nothingIsLeft, { what: 'nothing to be left' });
  });
});
