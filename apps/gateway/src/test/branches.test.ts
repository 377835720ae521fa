import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BranchReply } from '@caribou/contracts';
import { userFiles } from '@caribou/files';
import { useGateways } from '../testing/gateway-fixture.js';
import { said, textsOf, type ThreadClient, useThreadClient } from '../testing/thread-client.js';

const fixture = useGateways();
let client: ThreadClient;

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

describe('branches', () => {
  const branch = async (threadId: string, words: string, more: object = {}) =>
    client.ask<BranchReply>(`/${threadId}/branches`, { message_id: await client.idOf(threadId, words), ...more });

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

  test('the last turn is copied with everything, and the two threads change independently', async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2');
    await upload(threadId, 'map.txt');

    const { body } = await branch(threadId, 'about K2', { title: 'Other way' });
    expect(body).toMatchObject({
      parent_thread_id: threadId,
      branched_from_message_id: await client.idOf(threadId, 'about K2'),
      workspace_clone_mode: 'current_thread_best_effort',
      history_seed_mode: 'seeded',
    });
    const copied = join(fixture.home, 'users', 'alice', 'threads', body.thread_id, 'user-data', 'uploads', 'map.txt');
    expect(readFileSync(copied, 'utf8')).toBe('content of map.txt');
    await client.turn(body.thread_id, 'Eiger');

    expect(textsOf(await client.page(body.thread_id))).toEqual(['K2', 'about K2', 'Eiger', 'about Eiger']);
    expect(textsOf(await client.page(threadId))).toEqual(['K2', 'about K2']);
    expect((await client.ask(`/${body.thread_id}`)).body).toMatchObject({
      values: { title: 'Other way' },
      metadata: { deerflow_branch: true, branch_parent_thread_id: threadId },
    });
  });

  test('an older turn is copied without later messages and files', async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2', { input: { ...said('K2'), title: 'first' } });
    await client.turn(threadId, 'Eiger', {
      input: { ...said('Eiger'), title: 'second', artifacts: ['/mnt/user-data/outputs/x'] },
    });
    await upload(threadId, 'late.txt');

    const { body } = await branch(threadId, 'about K2');
    expect(body.workspace_clone_mode).toBe('skipped_historical_turn');
    expect(await client.countMessages(body.thread_id)).toBe(2);
    const { body: thread } = await client.ask<{ values: object; status: string }>(`/${body.thread_id}`);
    expect(thread).toMatchObject({ status: 'idle', values: { title: 'first' } });
    expect(thread.values).not.toHaveProperty('artifacts');
    await client.turn(body.thread_id, 'Fuji');

    expect(textsOf(await client.page(body.thread_id))).toEqual(['K2', 'about K2', 'Fuji', 'about Fuji']);
    expect((await client.ask<object[]>(`/${body.thread_id}/history`, { limit: 100 })).body).toHaveLength(4);
  });

  test('a missing message, one of a user and one of another user are refused, and any while a run is in flight', async () => {
    const threadId = await client.newThread();
    await client.turn(threadId, 'K2');
    const id = await client.idOf(threadId, 'about K2');
    const refused = [
      await branch(threadId, 'K2'),
      await branch(threadId, 'nothing'),
      await client.ask(`/${threadId}/branches`, { message_id: id }, 'bob-key-123'),
    ];
    await client.ask(`/${threadId}/runs`, { assistant_id: 'lead_agent', input: said('more') });
    refused.push(await branch(threadId, 'about K2'));

    expect(refused.map(({ status }) => status)).toEqual([404, 404, 404, 409]);
  });
});
