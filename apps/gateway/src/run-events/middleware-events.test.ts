import { newId, type RunEvent } from '@caribou/contracts';
import { admission, type StoreFixture, thread, useStore } from '@caribou/testing';
import { middlewareEvents } from './middleware-events.js';

let store: StoreFixture;
useStore((opened) => {
  store = opened;
});

const ended = (node: string, update: Extract<RunEvent, { kind: 'task.end' }>['update']): RunEvent => ({
  kind: 'task.end',
  task_id: newId(),
  node,
  step: 1,
  update,
  error: null,
});

/** A finished run with these events in its log. */
async function runWith(events: readonly RunEvent[]) {
  const key = thread();
  const run = await store.admit(key, admission(key));
  const claimed = await store.claim(key);
  await store.step(claimed, {}, { events });
  await store.finish(claimed);
  const { last_seq: lastSeq } = await store.threads.getRun(key, run.run_id);
  return { userId: key.userId, runId: run.run_id, lastSeq };
}

describe('middlewareEvents', () => {
  test('changes of the state by middlewares are events at the time of the checkpoint that has them', async () => {
    const run = await runWith([
      ended('title.after_agent', { title: 'A walk' }),
      ended('title.before_agent', null),
      ended('model_request', { title: 'of no middleware' }),
    ]);
    const { events, log } = await middlewareEvents(store.events, run);

    expect(log).toBe('complete');
    expect(events).toEqual([
      {
        source: 'middleware',
        event_type: 'middleware:title',
        category: 'middleware',
        content: {
          name: 'title',
          hook: 'after_agent',
          action: 'update_state',
          changes: { channels: ['title'], title: 'A walk' },
        },
        metadata: {},
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ]);
  });

  test('long values are left out, the channel is named', async () => {
    const run = await runWith([ended('title.after_agent', { title: 'x'.repeat(501) })]);
    const [event] = (await middlewareEvents(store.events, run)).events;
    expect(event?.content).toMatchObject({ changes: { channels: ['title'] } });
    expect(JSON.stringify(event)).not.toContain('xxx');
  });

  test('it is said when the log has expired', async () => {
    const run = await runWith([ended('title.after_agent', { title: 'A walk' })]);
    await store.redis.use((client) => client.del(store.redis.keys.runEvents(run.userId, run.runId)));
    expect(await middlewareEvents(store.events, run)).toEqual({ events: [], log: 'expired' });
  });
});
