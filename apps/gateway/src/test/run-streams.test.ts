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

describe('run streams', () => {
  test('a turn streams metadata, the input, deltas and the final values, and its headers have its URLs', async () => {
    const threadId = await streams.newThread();
    const response = await post(
      `${streams.urlOf(0)}/threads/${threadId}/runs/stream`,
      runBody({ stream_mode: ['values', 'messages-tuple'] }),
    );
    const runId = runIdOf(response);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(response.headers.get('content-location')).toBe(`/threads/${threadId}/runs/${runId}`);
    expect(response.headers.get('location')).toBe(`/threads/${threadId}/runs/${runId}/stream`);
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('x-accel-buffering')).toBe('no');

    const runner = await streams.claim(threadId);
    await runner.delta('a1', 'Hel');
    await runner.delta('a1', 'lo');
    await runner.finish('success', answerOf('a1', 'Hello'));
    const frames = framesOf(await response.text());

    expect(frames.map(({ event }) => event)).toEqual(['metadata', 'values', 'messages', 'messages', 'values', 'end']);
    expect(frames[0]?.data).toEqual({ run_id: runId, thread_id: threadId, attempt: 1 });
    expect(frames[4]?.data).toMatchObject({
      messages: [
        { type: 'human', content: 'hi' },
        { id: 'a1', content: 'Hello' },
      ],
    });
  });

  test('a client whose gateway stops continues at the other with its last id, nothing lost or doubled', async () => {
    const threadId = await streams.newThread();
    const response = await post(
      `${streams.urlOf(0)}/threads/${threadId}/runs/stream`,
      runBody({ stream_mode: ['values', 'messages-tuple'] }),
    );
    const reader = response.body?.getReader();
    const runner = await streams.claim(threadId);
    await runner.delta('a1', 'one ');
    let text = '';
    while (!text.includes('one ')) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    const seen = framesOf(text);

    const rejoined = fetch(`${streams.urlOf(1)}/threads/${threadId}/runs/${runIdOf(response)}/stream`, {
      headers: { 'last-event-id': seen.at(-1)?.id ?? '' },
    });
    await runner.delta('a1', 'two');
    await runner.finish('success', answerOf('a1', 'one two'));
    const rest = framesOf(await (await rejoined).text());
    const whole = framesOf(
      await (await fetch(`${streams.urlOf(1)}/threads/${threadId}/runs/${runIdOf(response)}/stream`)).text(),
    );

    expect([...seen, ...rest]).toEqual(whole);
    expect(whole.map(({ event }) => event)).toEqual(['metadata', 'values', 'messages', 'messages', 'values', 'end']);
  });

  test('events that NATS never carried are found in the log', async () => {
    const threadId = await streams.newThread();
    const response = await post(
      `${streams.urlOf(0)}/threads/${threadId}/runs/stream`,
      runBody({ stream_mode: ['messages-tuple'] }),
    );
    const runner = await streams.claim(threadId);
    await runner.delta('a1', 'lost', { silently: true });
    await runner.delta('a1', 'published');
    await runner.finish('success', answerOf('a1', 'lostpublished'));

    const chunks = framesOf(await response.text()).filter(({ event }) => event === 'messages');
    expect(chunks.map(({ data }) => (data as [{ content: string }])[0].content)).toEqual(['lost', 'published']);
  });

  test('a client that returns after the events expired, or after Redis lost the newest, gets a gap', async () => {
    const threadId = await streams.newThread();
    const runId = runIdOf(
      await post(`${streams.urlOf(0)}/threads/${threadId}/runs`, runBody({ stream_mode: ['messages-tuple'] })),
    );
    const runner = await streams.claim(threadId);
    for (const piece of ['one ', 'two ', 'three']) await runner.delta('a1', piece);
    const resume = async (id: string): Promise<Frame[]> => {
      const headers = { 'last-event-id': id };
      const url = `${streams.urlOf(0)}/threads/${threadId}/runs/${runId}/stream?stream_mode=messages-tuple`;
      return framesOf(await (await fetch(url, { headers })).text());
    };

    expect(await resume('9')).toMatchObject([{ event: 'gap', data: { latest_available_event_id: '5' } }]);
    await runner.finish('success', answerOf('a1', 'one two three'));
    await streams.redis.use((client) => client.unlink(streams.redis.keys.runEvents('default', runId)));

    expect(await resume('3')).toMatchObject([
      { event: 'gap', data: { requested_event_id: '3', latest_available_event_id: '7', run_id: runId } },
    ]);
    expect(await resume('7')).toMatchObject([{ event: 'end', id: '7' }]);
  });

  test('wait answers headers at once, newlines meanwhile, and the final values', async () => {
    const threadId = await streams.newThread();
    const response = await post(`${streams.urlOf(0)}/threads/${threadId}/runs/wait`, runBody());
    expect(response.status).toBe(200);
    const runner = await streams.claim(threadId);
    await runner.finish('success', answerOf('a1', 'done'));
    const text = await response.text();

    expect(JSON.parse(text)).toMatchObject({ messages: [{ content: 'hi' }, { content: 'done' }] });
    const joined = await fetch(`${streams.urlOf(1)}/threads/${threadId}/runs/${runIdOf(response)}/join`);
    expect(await joined.json()).toEqual(JSON.parse(text));
  });

  test('a failed run streams one error and end, and wait gives __error__', async () => {
    const threadId = await streams.newThread();
    const response = await post(`${streams.urlOf(0)}/threads/${threadId}/runs/stream`, runBody());
    await (await streams.claim(threadId)).finish('error', answerOf('a1', 'sorry'));
    const frames = framesOf(await response.text());
    const joined = await fetch(`${streams.urlOf(0)}/threads/${threadId}/runs/${runIdOf(response)}/join`);

    expect(frames.slice(-2).map(({ event }) => event)).toEqual(['error', 'end']);
    expect(frames.at(-2)?.data).toEqual({ error: 'ModelError', name: 'ModelError', message: 'nope' });
    expect(await joined.json()).toEqual({ __error__: { error: 'ModelError', message: 'nope' } });
  });

  test('a gateway that stops breaks its streams off without an end, and leaves their runs alone', async () => {
    const threadId = await streams.newThread();
    const response = await post(
      `${streams.urlOf(1)}/threads/${threadId}/runs/stream`,
      runBody({ on_disconnect: 'cancel' }),
    );
    const runner = await streams.claim(threadId);
    const reading = response.text();
    await streams.gateways[1]?.gateway.app.close();

    await expect(reading).rejects.toThrow();
    expect((await streams.runs.renew(runner.lease)).cancel).toBeNull();
  });
});
