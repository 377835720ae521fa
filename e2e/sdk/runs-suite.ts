import { randomUUID } from 'node:crypto';
import {
  ASSISTANT,
  collect,
  headOf,
  heldAt,
  lastValues,
  newGate,
  newThread,
  read,
  refusalOf,
  runIdIn,
  runIdOf,
  runToEnd,
  say,
  textsOf,
  type UseSdk,
} from './calls.js';
import type { SdkValues } from './sdk-client.js';

export function describeRuns(use: UseSdk): void {
  describe('runs', () => {
    test('wait answers with the final values, join too, also long after the end', async () => {
      const { client } = use();
      const threadId = await newThread(use());

      const waited = (await client.runs.wait(threadId, ASSISTANT, say('#say Waited for.'))) as SdkValues;

      expect(textsOf(waited)).toEqual(['#say Waited for.', 'Waited for.']);
      const [run] = await client.runs.list(threadId);
      expect(await client.runs.join(threadId, run?.run_id ?? '')).toEqual(waited);
      expect((await client.threads.getState(threadId)).values).toEqual(waited);
    });

    test('six waits at once are answered although the SDK keeps four requests in flight', async () => {
      const { client } = use();
      const threads = await Promise.all([0, 1, 2, 3, 4, 5].map(() => newThread(use())));

      const answers = await Promise.all(
        threads.map((threadId) => client.runs.wait(threadId, ASSISTANT, say('#say All.'))),
      );

      expect(answers.map((values) => textsOf(values as SdkValues)[1])).toEqual(threads.map(() => 'All.'));
    });

    test('list, get and delete find the runs of a thread, newest first', async () => {
      const { client } = use();
      const threadId = await newThread(use());
      const first = runIdIn(await runToEnd(use(), threadId, '#say One.', { metadata: { note: 'kept' } }));
      const second = runIdIn(await runToEnd(use(), threadId, '#say Two.'));

      expect((await client.runs.list(threadId)).map(({ run_id }) => run_id)).toEqual([second, first]);
      // A list omits the fields that only the record of one run has: its input and the rest of its request.
      const { kwargs, ...listed } = { kwargs: null, ...(await client.runs.get(threadId, first)) };
      expect(kwargs).toMatchObject({ input: { messages: [{ content: '#say One.' }] } });
      expect(await client.runs.list(threadId, { limit: 1, offset: 1 })).toMatchObject([listed]);
      expect(await client.runs.get(threadId, first)).toMatchObject({
        thread_id: threadId,
        status: 'success',
        metadata: { note: 'kept' },
      });
      expect(await refusalOf(client.runs.get(await newThread(use()), first))).toMatchObject({ status: 404 });

      await client.runs.delete(threadId, first);

      expect((await client.runs.list(threadId)).map(({ run_id }) => run_id)).toEqual([second]);
      expect(await refusalOf(client.runs.get(threadId, first))).toMatchObject({ status: 404 });
      expect(textsOf((await client.threads.getState(threadId)).values)).toHaveLength(4);
    });

    test('cancel in mid-stream ends the run, its stream and the request to the model; the next run works', async () => {
      const { client, stack } = use();
      const threadId = await newThread(use());
      const gate = newGate();
      const stream = read(
        client.runs.stream(threadId, ASSISTANT, {
          ...say(`#hold ${gate} after 2\n#say One two three.`),
          streamMode: ['messages-tuple'],
        }),
      );
      await heldAt(use(), gate);
      const runId = await runIdOf(stream);

      await client.runs.cancel(threadId, runId, true);

      expect(await client.runs.get(threadId, runId)).toMatchObject({ status: 'interrupted' });
      await stream.end;
      expect(stream.parts.at(-1)?.event).toBe('end');
      expect(stack.model.requests(gate).map(({ closedByClient }) => closedByClient)).toEqual([true]);
      await client.runs.cancel(threadId, runId);
      const next = lastValues(await runToEnd(use(), threadId, '#say After the cancel.'));
      expect(textsOf(next).at(-1)).toBe('After the cancel.');
    });

    test('cancel with rollback leaves the thread as it was before the run', async () => {
      const { client } = use();
      const threadId = await newThread(use());
      await runToEnd(use(), threadId, '#say Before.');
      const before = (await client.threads.getState(threadId)).values;
      const gate = newGate();
      const run = await client.runs.create(threadId, ASSISTANT, say(`#hold ${gate} after 1\n#say One two.`));
      await heldAt(use(), gate);

      await client.runs.cancel(threadId, run.run_id, true, 'rollback');

      expect((await client.threads.getState(threadId)).values).toEqual(before);
      expect(await refusalOf(client.runs.get(threadId, run.run_id))).toMatchObject({ status: 404 });
    });
  });

  describe('checkpoint', () => {
    test('the head simply continues, an older one forks', async () => {
      const { client } = use();
      const threadId = await newThread(use());
      await runToEnd(use(), threadId, '#say One.');
      const afterOne = await headOf(use(), threadId);

      const continued = lastValues(await runToEnd(use(), threadId, '#say Two.', { checkpoint: afterOne.checkpoint }));
      const forked = lastValues(await runToEnd(use(), threadId, '#say Three.', { checkpoint: afterOne.checkpoint }));

      expect(textsOf(continued)).toEqual(['#say One.', 'One.', '#say Two.', 'Two.']);
      expect(textsOf(forked)).toEqual(['#say One.', 'One.', '#say Three.', 'Three.']);
      expect((await client.threads.getState(threadId)).values).toEqual(forked);
    });

    test('an unknown one is refused', async () => {
      const threadId = await newThread(use());
      await runToEnd(use(), threadId, '#say One.');
      const checkpoint = { ...(await headOf(use(), threadId)).checkpoint, checkpoint_id: randomUUID() };

      expect(await refusalOf(runToEnd(use(), threadId, '#say Two.', { checkpoint }))).toMatchObject({ status: 404 });
    });
  });

  describe('stateless runs', () => {
    test('stream, wait and create work without a thread and leave none behind', async () => {
      const { client } = use();
      const threads = await client.threads.count();

      const parts = await runToEnd(use(), null, '#say No thread.');
      const waited = (await client.runs.wait(null, ASSISTANT, say('#say Waited.'))) as SdkValues;

      expect(textsOf(lastValues(parts))).toEqual(['#say No thread.', 'No thread.']);
      expect(textsOf(waited)).toEqual(['#say Waited.', 'Waited.']);
      expect(await client.runs.create(null, ASSISTANT, say('#say Created.'))).toMatchObject({
        run_id: expect.any(String),
      });
      expect(await client.threads.count()).toBeLessThanOrEqual(threads + 1); // the created one may still run
    });
  });

  describe('assistants', () => {
    test('search knows the agent; get answers by its UUID and by its graph name', async () => {
      const { client } = use();

      const [assistant] = (await client.assistants.search({ graphId: ASSISTANT })) as {
        assistant_id: string;
        graph_id: string;
      }[];

      expect(assistant).toMatchObject({ graph_id: ASSISTANT });
      expect(await client.assistants.get(ASSISTANT)).toEqual(assistant);
      expect(await client.assistants.get(assistant?.assistant_id ?? '')).toEqual(assistant);
      expect(await client.assistants.getGraph(ASSISTANT)).toMatchObject({
        nodes: expect.any(Array),
        edges: expect.any(Array),
      });
      expect(await client.assistants.getSchemas(ASSISTANT)).toMatchObject({ graph_id: ASSISTANT });
      const parts = await collect(
        client.runs.stream(null, assistant?.assistant_id ?? '', { ...say('#say By UUID.'), streamMode: 'values' }),
      );
      expect(textsOf(lastValues(parts)).at(-1)).toBe('By UUID.');
    });
  });
}
