import { waitFor } from '@caribou/testing';
import {
  answerOf,
  framesOf,
  post,
  runBody,
  runIdOf,
  type RunStreamsFixture,
  useRunStreams,
} from '../testing/run-streams-fixture.js';

let streams: RunStreamsFixture;

useRunStreams((fixture) => {
  streams = fixture;
});

describe('requests that start, repeat and cancel runs', () => {
  test('a repeated Idempotency-Key joins the same run, streams included; another body is refused', async () => {
    const threadId = await streams.newThread();
    const key = { 'idempotency-key': `key-${threadId}` };
    const first = await post(`${streams.urlOf(0)}/threads/${threadId}/runs/stream`, runBody(), key);
    const second = await post(`${streams.urlOf(1)}/threads/${threadId}/runs/stream`, runBody(), key);
    const other = await post(
      `${streams.urlOf(0)}/threads/${threadId}/runs/stream`,
      runBody({ metadata: { other: 1 } }),
      key,
    );
    await (await streams.claim(threadId)).finish('success', answerOf('a1', 'once'));

    expect(runIdOf(second)).toBe(runIdOf(first));
    expect(other.status).toBe(422);
    expect(framesOf(await second.text())).toEqual(framesOf(await first.text()));
  });

  test('a client that leaves cancels its run only when it said so', async () => {
    for (const [on_disconnect, cancelled] of [
      ['cancel', true],
      ['continue', false],
    ] as const) {
      const threadId = await streams.newThread();
      const leave = new AbortController();
      const response = await fetch(`${streams.urlOf(0)}/threads/${threadId}/runs/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(runBody({ on_disconnect })),
        signal: leave.signal,
      });
      const runner = await streams.claim(threadId);
      leave.abort();
      await response.text().catch(() => undefined);
      if (cancelled)
        await waitFor(async () => (await streams.runs.renew(runner.lease)).cancel === 'interrupt', {
          what: 'the cancel flag',
        });
      else expect((await streams.runs.renew(runner.lease)).cancel).toBeNull();
      await runner.finish(cancelled ? 'interrupted' : 'success');
    }
  });

  test('cancel answers 202 at once, 204 when the run has stopped, and 204 for one that is over', async () => {
    const threadId = await streams.newThread();
    const created = await post(`${streams.urlOf(0)}/threads/${threadId}/runs`, runBody());
    const runner = await streams.claim(threadId);
    const cancel = `${streams.urlOf(1)}/threads/${threadId}/runs/${runIdOf(created)}/cancel`;

    expect((await fetch(`${cancel}?wait=0&action=interrupt`, { method: 'POST' })).status).toBe(202);
    const waiting = fetch(`${cancel}?wait=1`, { method: 'POST' });
    await runner.finish('interrupted');
    expect((await waiting).status).toBe(204);
    expect((await fetch(`${cancel}?wait=1`, { method: 'POST' })).status).toBe(204);
  });

  test('a queued run that is cancelled ends its own stream', async () => {
    const threadId = await streams.newThread();
    await post(`${streams.urlOf(0)}/threads/${threadId}/runs`, runBody());
    const queued = await post(
      `${streams.urlOf(0)}/threads/${threadId}/runs/stream`,
      runBody({ multitask_strategy: 'enqueue' }),
    );
    await fetch(`${streams.urlOf(1)}/threads/${threadId}/runs/${runIdOf(queued)}/cancel`, { method: 'POST' });

    expect(framesOf(await queued.text()).map(({ event }) => event)).toEqual(['metadata', 'end']);
  });

  test('a stateless run has a thread of its own that nobody finds afterwards', async () => {
    const waiting = await post(`${streams.urlOf(0)}/runs/wait`, runBody());
    const threadId = waiting.headers.get('content-location')?.split('/')[2] ?? '';
    await (await streams.claim(threadId)).finish('success', answerOf('a1', 'alone'));

    expect(await waiting.json()).toMatchObject({ messages: [{ content: 'hi' }, { content: 'alone' }] });
    expect((await fetch(`${streams.urlOf(0)}/threads/${threadId}`)).status).toBe(404);
  });
});
