import { randomUUID } from 'node:crypto';
import { PROTOCOL_CHANNELS } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { EventReader, rootLifecycle, type WireEvent } from '../testing/protocol-client.js';
import { answerOf, post, type RunStreamsFixture, runBody, useRunStreams } from '../testing/run-streams-fixture.js';

let fixture: RunStreamsFixture;
useRunStreams((given) => {
  fixture = given;
});

const readers: EventReader[] = [];
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
});

const urlOf = (threadId: string, gateway = 0): string => `${fixture.urlOf(gateway)}/threads/${threadId}/stream/events`;

async function open(threadId: string, filter: object = {}, gateway = 0): Promise<EventReader> {
  const reader = await EventReader.open(urlOf(threadId, gateway), { channels: PROTOCOL_CHANNELS, ...filter });
  readers.push(reader);
  return reader;
}

/** Starts a run by REST. */
const start = (threadId: string, more: object = {}): Promise<Response> =>
  post(`${fixture.urlOf(0)}/threads/${threadId}/runs`, runBody({ if_not_exists: 'create', ...more }));

/** A whole turn whose answer is streamed in two pieces. */
async function turn(threadId: string, name: string): Promise<void> {
  await start(threadId);
  const runner = await fixture.claim(threadId);
  await runner.delta(name, 'One ');
  await runner.delta(name, 'two.');
  await runner.finish('success', answerOf(name, 'One two.'));
}

const textOf = (events: readonly WireEvent[], message: string): string =>
  events
    .filter(({ method }) => method === 'messages')
    .map(({ params }) => params.data)
    .reduce<{ current: unknown; text: string }>(
      (sum, data) => {
        const current = data['event'] === 'message-start' ? data['id'] : sum.current;
        const delta = data['delta'] as { text?: string } | undefined;
        return { current, text: sum.text + (current === message ? (delta?.text ?? '') : '') };
      },
      { current: undefined, text: '' },
    ).text;

const idsOf = (events: readonly WireEvent[]): string[] => events.map(({ event_id: id }) => id);

describe('a stream of a thread', () => {
  test('that is opened before there is a run is idle, and follows runs that start later at another gateway', async () => {
    const threadId = randomUUID();
    const reader = await open(threadId, {}, 1);

    await turn(threadId, 'a');
    await turn(threadId, 'b');

    const events = await reader.untilEnded(2);
    expect(rootLifecycle(events)).toEqual(['running', 'completed', 'running', 'completed']);
    expect([textOf(events, 'a'), textOf(events, 'b')]).toEqual(['One two.', 'One two.']);
    const seqs = events.map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((one, other) => one - other));
    expect(reader.ids).toEqual(idsOf(events));
  });

  test('is the same at every gateway, and begins after `since` at any event', async () => {
    const threadId = randomUUID();
    await turn(threadId, 'a');
    await turn(threadId, 'b');
    const all = await (await open(threadId, { since: 0 })).untilEnded(2);
    expect(await (await open(threadId, { since: 0 }, 1)).untilEnded(2)).toEqual(all);

    for (const [index, { seq }] of all.entries()) {
      const rest = await open(threadId, { since: seq }, index % 2);
      await waitFor(() => rest.events.length >= all.length - index - 1, { what: 'the rest' });
      expect(rest.events).toEqual(all.slice(index + 1));
      rest.close();
    }
  });

  test('without `since` begins with the run under way, else with the last one', async () => {
    const threadId = randomUUID();
    await turn(threadId, 'a');
    await turn(threadId, 'b');
    expect(textOf(await (await open(threadId)).untilEnded(), 'a')).toBe('');
    expect(textOf(await (await open(threadId)).untilEnded(), 'b')).toBe('One two.');

    await start(threadId);
    const runner = await fixture.claim(threadId);
    await start(threadId, { multitask_strategy: 'enqueue' });
    const reader = await open(threadId);
    await runner.finish('success', answerOf('c', 'Three.'));
    await (await fixture.claim(threadId)).finish('success', answerOf('d', 'Four.'));
    expect(rootLifecycle(await reader.untilEnded(2))).toEqual(['running', 'completed', 'running', 'completed']);
  });

  test('shows only the channels and namespaces that it asks for', async () => {
    const threadId = randomUUID();
    await turn(threadId, 'a');
    const values = await open(threadId, { channels: ['values', 'lifecycle'], namespaces: [[]], depth: 0 });
    const subagent = await open(threadId, { channels: ['lifecycle', 'messages'], namespaces: [['tools:x']] });

    const methods = new Set((await values.untilEnded()).map(({ method }) => method));

    expect(methods).toEqual(new Set(['values', 'lifecycle']));
    expect(subagent.events).toEqual([]);
  });

  test('pairs each state with its checkpoint, and names the run in the ids of its lifecycle', async () => {
    const threadId = randomUUID();
    await turn(threadId, 'a');
    const events = await (await open(threadId)).untilEnded();

    const [first] = (await (await fetch(`${fixture.urlOf(0)}/threads/${threadId}/runs`)).json()) as {
      run_id: string;
    }[];
    for (const event of events.filter(({ method }) => method === 'lifecycle'))
      expect(event.event_id).toBe(`synth:${first?.run_id}:${event.seq}`);
    const steps = events.filter(({ method }) => method === 'checkpoints' || method === 'values');
    expect(steps.map(({ method }) => method)).toEqual(['checkpoints', 'values', 'checkpoints', 'values']);
    expect(steps[0]?.params.data).toEqual({ id: expect.any(String), step: 0, source: 'input' });
    expect(steps[2]?.params.data).toMatchObject({ parent_id: steps[0]?.params.data['id'], step: 1, source: 'loop' });
    expect(JSON.stringify(steps[3]?.params.data)).toContain('One two.');
  });

  test('says how a run failed, was cancelled, or was cancelled before it began', async () => {
    const threadId = randomUUID();
    await start(threadId);
    await (await fixture.claim(threadId)).finish('error');
    const failed = await (await open(threadId)).untilEnded();
    expect(failed.at(-1)?.params.data).toMatchObject({ event: 'failed', error: 'nope', graph_name: 'lead_agent' });

    const queued = randomUUID();
    const { run_id: runId } = (await (await start(queued)).json()) as { run_id: string };
    await post(`${fixture.urlOf(1)}/threads/${queued}/runs/${runId}/cancel`, {});
    expect(rootLifecycle(await (await open(queued)).untilEnded())).toEqual(['interrupted']);
  });

  test('can be read by GET, and resumed by its Last-Event-ID', async () => {
    const threadId = randomUUID();
    await turn(threadId, 'a');
    const url = `${urlOf(threadId)}?channels=messages&channels=lifecycle`;
    const all = await EventReader.open(url, undefined);
    readers.push(all);
    await all.untilEnded();
    const rest = await EventReader.open(url, undefined, { 'last-event-id': all.ids[3] ?? '' });
    readers.push(rest);
    await rest.untilEnded();
    expect(rest.events).toEqual(all.events.slice(4));
  });
});

describe('events that are gone', () => {
  const expire = (runId: string): Promise<unknown> =>
    fixture.redis.use((client) => client.del(fixture.redis.keys.runEvents('default', runId)));

  async function endedRun(threadId: string, name: string): Promise<string> {
    await turn(threadId, name);
    const [run] = (await (await fetch(`${fixture.urlOf(0)}/threads/${threadId}/runs`)).json()) as { run_id: string }[];
    return run?.run_id ?? '';
  }

  test('of the last run are replaced by the newest state and the end of the run', async () => {
    const threadId = randomUUID();
    const runId = await endedRun(threadId, 'a');
    const [first] = await (await open(threadId)).untilEnded();
    await expire(runId);

    for (const since of [undefined, first?.seq]) {
      const events = await (await open(threadId, { since })).untilEnded();
      expect(events.map(({ method }) => method)).toEqual(['values', 'lifecycle']);
      expect(JSON.stringify(events[0]?.params.data)).toContain('One two.');
      expect(rootLifecycle(events)).toEqual(['completed']);
    }
    const last = await (await open(threadId)).untilEnded();
    const nothing = await open(threadId, { since: last.at(-1)?.seq });
    await turn(threadId, 'b');
    expect(textOf(await nothing.untilEnded(), 'b')).toBe('One two.');
    expect(rootLifecycle(nothing.events)).toEqual(['running', 'completed']);
  });

  test('of an earlier run are replaced by its end alone, as the later one has the state', async () => {
    const threadId = randomUUID();
    await expire(await endedRun(threadId, 'a'));
    await endedRun(threadId, 'b');
    const events = await (await open(threadId, { since: 0 })).untilEnded(2);
    expect(rootLifecycle(events)).toEqual(['completed', 'running', 'completed']);
    expect(textOf(events, 'b')).toBe('One two.');
  });

  test('with their run are replaced by the newest state before the next run', async () => {
    const threadId = randomUUID();
    const runId = await endedRun(threadId, 'a');
    const [first] = await (await open(threadId)).untilEnded();
    await fetch(`${fixture.urlOf(0)}/threads/${threadId}/runs/${runId}`, { method: 'DELETE' });
    await endedRun(threadId, 'b');

    const events = await (await open(threadId, { since: first?.seq })).untilEnded();

    expect(events[0]?.method).toBe('values');
    expect(textOf(events, 'b')).toBe('One two.');
  });

  test('a number that the thread has not reached is that of a store which lost writes: the state comes first', async () => {
    const threadId = randomUUID();
    await endedRun(threadId, 'a');
    const events = await (await open(threadId, { since: 9 * 2 ** 33 })).untilEnded();
    expect(events[0]?.method).toBe('values');
    expect(rootLifecycle(events)).toEqual(['running', 'completed']);
  });
});

describe('refused streams', () => {
  test.each<[string, object, string]>([
    ['no channel', { channels: [] }, 'channels'],
    ['an unknown channel', { channels: ['nothing'] }, 'channels.0: must be one of values,'],
    ['a custom channel without a name', { channels: ['custom:'] }, 'channels.0'],
    ['too many channels', { channels: Array.from({ length: 51 }, () => 'values') }, 'channels'],
    ['a long namespace', { channels: ['values'], namespaces: [['x'.repeat(201)]] }, 'namespaces.0.0'],
    ['a negative number', { channels: ['values'], since: -1 }, 'since'],
    ['half a depth', { channels: ['values'], depth: 1.5 }, 'depth'],
    ['no filter', {}, 'channels'],
  ])('%s: the field is named', async (_fault, filter, field) => {
    const response = await post(urlOf(randomUUID()), filter);
    expect(response.status).toBe(422);
    expect(((await response.json()) as { detail: string }).detail).toContain(field);
  });
});
