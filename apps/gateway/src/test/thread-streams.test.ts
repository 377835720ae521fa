import { waitFor } from '@caribou/testing';
import {
  answerOf,
  type Frame,
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

/** A stream of a thread that is read in the background. */
class Reader {
  private text = '';
  private readonly abort = new AbortController();
  readonly ended: Promise<void>;
  response: Response | undefined;

  constructor(url: string, lastEventId?: string) {
    this.ended = this.read(url, lastEventId === undefined ? {} : { 'last-event-id': lastEventId });
    this.ended.catch(() => undefined);
  }

  get frames(): Frame[] {
    return framesOf(this.text.slice(0, this.text.lastIndexOf('\n\n') + 2));
  }

  get events(): string[] {
    return this.frames.map(({ event }) => event);
  }

  async waitForEvents(count: number, name: string): Promise<void> {
    const seen = () => this.events.filter((event) => event === name).length >= count;
    await waitFor(seen, { what: `${count} frames ${name}` });
  }

  async opened(): Promise<void> {
    await waitFor(() => this.response !== undefined, { what: 'the response' });
  }

  close(): void {
    this.abort.abort();
  }

  private async read(url: string, headers: Record<string, string>): Promise<void> {
    const response = await fetch(url, { headers, signal: this.abort.signal });
    this.response = response;
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) this.text += decoder.decode(chunk, { stream: true });
  }
}

const start = async (threadId: string, more: object = {}): Promise<string> =>
  runIdOf(
    await post(`${streams.urlOf(0)}/threads/${threadId}/runs`, runBody({ stream_mode: ['messages-tuple'], ...more })),
  );

const open = (threadId: string, query = '', options: { gateway?: number; after?: string } = {}): Reader =>
  new Reader(`${streams.urlOf(options.gateway ?? 0)}/threads/${threadId}/stream${query}`, options.after);

async function answer(threadId: string, text: string): Promise<void> {
  const runner = await streams.claim(threadId);
  await runner.delta(`a-${text}`, text);
  await runner.finish('success', answerOf(`a-${text}`, text));
}

describe('the stream of a thread', () => {
  test('runs are shown from their start, one after the other, and a resumed stream gets exactly the rest', async () => {
    const threadId = await streams.newThread();
    const reader = open(threadId);
    await reader.opened();
    const first = await start(threadId);
    await answer(threadId, 'one');
    await reader.waitForEvents(1, 'run_done');
    const second = await start(threadId);
    await answer(threadId, 'two');
    await reader.waitForEvents(2, 'run_done');
    reader.close();

    const { frames } = reader;
    const ofRun = ['metadata', 'messages', 'run_done'];
    expect(frames.map(({ event }) => event)).toEqual([...ofRun, ...ofRun]);
    expect(frames.filter(({ event }) => event === 'run_done').map(({ data }) => data)).toEqual([
      { run_id: first, thread_id: threadId, status: 'success' },
      { run_id: second, thread_id: threadId, status: 'success' },
    ]);
    expect(reader.response?.headers.get('location')).toBe(`/threads/${threadId}/stream?stream_mode=run_modes`);
    for (const [index, { id }] of frames.slice(0, -1).entries()) {
      const resumed = open(threadId, '', { gateway: 1, after: id });
      await resumed.waitForEvents(
        frames.slice(index + 1).filter(({ event }) => event === 'run_done').length,
        'run_done',
      );
      resumed.close();
      expect(resumed.frames).toEqual(frames.slice(index + 1));
    }
  });

  test('a stream that begins during a run shows it whole, and not the runs before it', async () => {
    const threadId = await streams.newThread();
    await start(threadId);
    await answer(threadId, 'before');
    const runId = await start(threadId);
    const runner = await streams.claim(threadId);
    await runner.delta('a1', 'now');
    const reader = open(threadId);
    await reader.waitForEvents(1, 'messages');
    await runner.finish('success', answerOf('a1', 'now'));
    await reader.waitForEvents(1, 'run_done');
    reader.close();

    expect(reader.events).toEqual(['metadata', 'messages', 'run_done']);
    expect(reader.frames[0]?.data).toMatchObject({ run_id: runId });
  });

  test('lifecycle shows starts and ends, state_update the states, also those that clients write', async () => {
    const threadId = await streams.newThread();
    const [lifecycle, updates] = [
      open(threadId, '?stream_mode=lifecycle'),
      open(threadId, '?stream_mode=state_update'),
    ];
    await Promise.all([lifecycle.opened(), updates.opened()]);
    const runId = await start(threadId);
    await answer(threadId, 'one');
    await lifecycle.waitForEvents(1, 'run_done');
    await waitFor(
      async () =>
        (await post(`${streams.urlOf(0)}/threads/${threadId}/state`, { values: { title: 'mine' } })).status === 200,
      { what: 'the update' },
    );
    const isTitled = ({ data }: Frame) => (data as { title?: string }).title === 'mine';
    await waitFor(() => updates.frames.some(isTitled), { what: 'the title' });
    const resumed = open(threadId, '?stream_mode=state_update', { after: updates.frames.at(-2)?.id ?? '' });
    await resumed.waitForEvents(1, 'state_update');
    for (const reader of [lifecycle, updates, resumed]) reader.close();

    expect(lifecycle.events).toEqual(['metadata', 'run_done']);
    expect(lifecycle.frames.at(-1)?.data).toMatchObject({ run_id: runId, status: 'success' });
    expect(new Set(updates.events)).toEqual(new Set(['state_update']));
    expect(updates.frames.at(-2)?.data).toMatchObject({ messages: [{}, { content: 'one' }] });
    expect(resumed.frames.filter(isTitled)).toHaveLength(1);
  });

  test('a rolled back run is done without a status, a deleted thread ends the stream, others get 404', async () => {
    const threadId = await streams.newThread();
    const reader = open(threadId);
    await reader.opened();
    const runId = await start(threadId);
    const { lease } = await streams.claim(threadId);
    await reader.waitForEvents(1, 'metadata');
    const { appended } = await streams.runs.finish(lease, { status: 'interrupted', events: [], rollback: true });
    streams.publish(runId, appended);
    await reader.waitForEvents(1, 'run_done');
    await fetch(`${streams.urlOf(1)}/threads/${threadId}`, { method: 'DELETE' });
    await reader.ended;

    expect(reader.frames.at(-2)).toMatchObject({ event: 'run_done', data: { run_id: runId, status: null } });
    expect(reader.events.at(-1)).toBe('end');
    expect((await fetch(`${streams.urlOf(0)}/threads/${threadId}/stream`)).status).toBe(404);
    expect((await fetch(`${streams.urlOf(0)}/threads/${threadId}/stream?stream_mode=nope`)).status).toBe(422);
  });

  test('a run is joined by its id alone', async () => {
    const threadId = await streams.newThread();
    const runId = await start(threadId);
    await answer(threadId, 'one');

    const joined = framesOf(await (await fetch(`${streams.urlOf(1)}/runs/${runId}/stream`)).text());

    expect(joined.map(({ event }) => event)).toEqual(['metadata', 'messages', 'end']);
    expect((await fetch(`${streams.urlOf(1)}/runs/${threadId}/stream`)).status).toBe(404);
  });
});
