import { randomUUID } from 'node:crypto';
import type { WireMessage } from '../support/client.js';
import {
  ASSISTANT,
  type Chunk,
  chunksIn,
  COMBINED,
  collect,
  eventsIn,
  heldAt,
  idsOf,
  lastValues,
  newGate,
  newThread,
  read,
  runIdIn,
  runToEnd,
  say,
  textsOf,
  type UseSdk,
} from './calls.js';

const SCRIPT = [
  '#think let me look',
  '#say Looking now.',
  '#+tool bash {"description":"greet","command":"echo hi there"}',
  '#say It says hi there.',
].join('\n');

const EVENTS_OF: Readonly<Record<string, readonly string[]>> = {
  values: ['values'],
  'messages-tuple': ['messages'],
  updates: ['updates'],
  custom: [],
  messages: ['messages/complete', 'messages/metadata', 'messages/partial'],
  events: ['events'],
  debug: ['debug'],
  tasks: ['tasks'],
  checkpoints: ['checkpoints'],
  tools: ['tools'],
};

export function describeStreams(use: UseSdk): void {
  describe('runs.stream', () => {
    test.each(Object.entries(EVENTS_OF))(
      'mode %s sends its own events between metadata and end, and no others',
      async (mode, events) => {
        const { client } = use();
        const threadId = await newThread(use());

        const parts = await collect(client.runs.stream(threadId, ASSISTANT, { ...say(SCRIPT), streamMode: mode }));

        expect(parts[0]).toMatchObject({ event: 'metadata', data: { thread_id: threadId, attempt: 1 } });
        expect(parts.at(-1)?.event).toBe('end');
        expect(eventsIn(parts).sort()).toEqual(['metadata', 'end', ...events].sort());
        expect(await client.runs.get(threadId, runIdIn(parts))).toMatchObject({ status: 'success' });
      },
    );

    test('deltas add up to the final messages, under the same ids in chunks, updates, values, state and history', async () => {
      const { client } = use();
      const threadId = await newThread(use());

      const parts = await runToEnd(use(), threadId, SCRIPT);

      const { messages = [] } = lastValues(parts);
      const [, first, tool, last] = messages;
      expect(messages.map(({ type, content }) => [type, content])).toEqual([
        ['human', SCRIPT],
        ['ai', 'Looking now.'],
        ['tool', 'hi there\n'],
        ['ai', 'It says hi there.'],
      ]);
      const chunks = chunksIn(parts);
      expect([...new Set(idsOf(chunks))]).toEqual([first?.id, tool?.id, last?.id]);
      for (const message of [first, tool, last]) expectAddsUp(chunks, message);
      expectToolCall(chunks, first);
      expect(updatedIds(parts)).toEqual([first?.id, tool?.id, last?.id]);
      expect((await client.threads.getState(threadId)).values.messages).toEqual(messages);
      expect((await client.threads.getHistory(threadId, { limit: 2 }))[0]?.values.messages).toEqual(messages);
      const [alone] = await client.threads.getHistory(threadId, { limit: 1 });
      const timed = { ...last?.additional_kwargs, turn_duration: expect.any(Number) };
      expect(alone?.values.messages).toEqual([...messages.slice(0, -1), { ...last, additional_kwargs: timed }]);
    });

    test('every frame has an id of its own and no delta comes after the values that hold its message', async () => {
      const threadId = await newThread(use());

      const parts = await runToEnd(use(), threadId, SCRIPT);

      const ids = parts.map(({ id }) => id);
      expect(ids.every((id) => id !== undefined && id !== '')).toBe(true);
      expect(new Set(ids).size).toBe(ids.length);
      const held = new Set<string>();
      for (const part of parts) {
        if (part.event === 'values') for (const id of idsOf(lastValues([part]).messages)) held.add(id);
        if (part.event === 'messages') expect([...held]).not.toContain(chunksIn([part])[0]?.id);
      }
    });

    test('an answer of forty slow tokens is shown in at least ten pieces', async () => {
      const parts = await runToEnd(use(), await newThread(use()), '#tokens 40 20');

      expect(chunksIn(parts).filter(({ content }) => content !== '').length).toBeGreaterThanOrEqual(10);
    });

    test('if_not_exists makes the thread of a run', async () => {
      const { client } = use();
      const threadId = randomUUID();

      const parts = await runToEnd(use(), threadId, '#say Here.', { ifNotExists: 'create' });

      expect(textsOf(lastValues(parts))).toEqual(['#say Here.', 'Here.']);
      expect(await client.threads.get(threadId)).toMatchObject({ status: 'idle' });
    });
  });

  describe('runs.joinStream', () => {
    test('a late joiner of a run made with create gets all of it; from the middle, exactly the rest', async () => {
      const { client, stack } = use();
      const threadId = await newThread(use());
      const gate = newGate();
      const run = await client.runs.create(threadId, ASSISTANT, {
        ...say(`#hold ${gate} after 3\n#say One two three four five.`),
        streamMode: COMBINED,
      });
      await heldAt(use(), gate);
      const live = read(client.runs.joinStream(threadId, run.run_id, { lastEventId: '-1' }));
      const silent = read(client.runs.joinStream(threadId, run.run_id));
      stack.model.release(gate);
      await Promise.all([live.end, silent.end]);

      const replay = await collect(client.runs.joinStream(threadId, run.run_id, { lastEventId: '-1' }));

      expect(eventsIn(replay)).toEqual(['metadata', 'values', 'messages', 'updates', 'end']);
      expect(textsOf(lastValues(replay))[1]).toBe('One two three four five.');
      expect(live.parts).toEqual(replay);
      expect(silent.parts).toEqual(replay);
      for (const middle of [0, Math.floor(replay.length / 2), replay.length - 2]) {
        const rest = await collect(client.runs.joinStream(threadId, run.run_id, { lastEventId: replay[middle]?.id }));
        expect(rest).toEqual(replay.slice(middle + 1));
      }
    });

    test('a joiner may ask for other modes than the run was started with', async () => {
      const { client } = use();
      const threadId = await newThread(use());
      const run = await client.runs.create(threadId, ASSISTANT, { ...say('#say One two.'), streamMode: 'values' });

      const parts = await collect(
        client.runs.joinStream(threadId, run.run_id, { streamMode: ['messages-tuple', 'updates'] }),
      );

      expect(eventsIn(parts).sort()).toEqual(['end', 'messages', 'metadata', 'updates']);
    });
  });
}

/** The chunks of a message join to its text, and the usage of an answer is in exactly one of them. */
function expectAddsUp(chunks: readonly Chunk[], message: WireMessage | undefined): void {
  const own = chunks.filter(({ id }) => id === message?.id);
  expect(own.map(({ content }) => content).join('')).toBe(message?.content);
  expect(own.filter((chunk) => chunk.usage_metadata !== undefined)).toHaveLength(message?.type === 'ai' ? 1 : 0);
}

function expectToolCall(
  chunks: readonly Chunk[],
  message: { readonly tool_calls?: readonly unknown[] } | undefined,
): void {
  const pieces = chunks.flatMap(({ tool_call_chunks: own }) => own ?? []);
  expect(pieces.filter(({ name }) => name === 'bash')).toHaveLength(1);
  expect(new Set(pieces.map(({ index }) => index))).toEqual(new Set([0]));
  const args = { description: 'greet', command: 'echo hi there' };
  expect(JSON.parse(pieces.map((piece) => piece.args).join(''))).toEqual(args);
  expect(message?.tool_calls).toEqual([{ name: 'bash', args, id: expect.any(String), type: 'tool_call' }]);
}

/** Ids of the messages that `updates` frames hold, in order. */
const updatedIds = (parts: readonly { event: string; data: unknown }[]): string[] =>
  parts
    .filter(({ event }) => event === 'updates')
    .flatMap(({ data }) =>
      Object.values(data as Record<string, { messages?: { id: string; content: unknown; type: string }[] } | null>),
    )
    .flatMap((update) => (update?.messages ?? []).map(({ id }) => id));
