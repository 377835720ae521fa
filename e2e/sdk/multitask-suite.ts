import {
  ASSISTANT,
  collect,
  heldAt,
  lastValues,
  newGate,
  newThread,
  read,
  type Reading,
  refusalOf,
  runIdOf,
  runToEnd,
  type Sdk,
  say,
  textsOf,
  type UseSdk,
} from './calls.js';

/** A run on the thread that is in the middle of its answer. */
async function runHeld(
  sdk: Sdk,
  threadId: string,
): Promise<{ readonly gate: string; readonly stream: Reading; readonly runId: string; readonly script: string }> {
  const gate = newGate();
  const script = `#hold ${gate} after 1\n#say First answer.`;
  const stream = read(
    sdk.client.runs.stream(threadId, ASSISTANT, { ...say(script), streamMode: ['values', 'messages-tuple'] }),
  );
  await heldAt(sdk, gate);
  return { gate, stream, runId: await runIdOf(stream), script };
}

export function describeMultitask(use: UseSdk): void {
  describe('a second run while one is in flight', () => {
    test('reject, the default: 409, and the first continues', async () => {
      const { client, stack } = use();
      const threadId = await newThread(use());
      const { gate, stream, runId } = await runHeld(use(), threadId);

      expect(await refusalOf(client.runs.create(threadId, ASSISTANT, say('#say x')))).toMatchObject({ status: 409 });
      expect(await refusalOf(runToEnd(use(), threadId, '#say x', { multitaskStrategy: 'reject' }))).toMatchObject({
        status: 409,
      });

      stack.model.release(gate);
      await stream.end;
      expect(textsOf(lastValues(stream.parts)).at(-1)).toBe('First answer.');
      expect((await client.runs.list(threadId)).map(({ run_id, status }) => [run_id, status])).toEqual([
        [runId, 'success'],
      ]);
    });

    test('interrupt: the first ends interrupted, the second follows it and shows nothing of its stream', async () => {
      const { client } = use();
      const threadId = await newThread(use());
      const first = await runHeld(use(), threadId);

      const parts = await runToEnd(use(), threadId, '#say Second answer.', { multitaskStrategy: 'interrupt' });

      await first.stream.end;
      expect(await client.runs.get(threadId, first.runId)).toMatchObject({ status: 'interrupted' });
      expect(textsOf(lastValues(parts))).toEqual([first.script, '#say Second answer.', 'Second answer.']);
      expect(JSON.stringify(parts.filter(({ event }) => event === 'messages'))).not.toContain('First');
      expect((await client.threads.getState(threadId)).values).toEqual(lastValues(parts));
    });

    test('rollback: nothing is left of the first, neither run nor messages', async () => {
      const { client } = use();
      const threadId = await newThread(use());
      await runToEnd(use(), threadId, '#say Before.');
      const first = await runHeld(use(), threadId);

      const parts = await runToEnd(use(), threadId, '#say Second answer.', { multitaskStrategy: 'rollback' });

      await first.stream.end;
      expect(textsOf(lastValues(parts))).toEqual(['#say Before.', 'Before.', '#say Second answer.', 'Second answer.']);
      expect(await refusalOf(client.runs.get(threadId, first.runId))).toMatchObject({ status: 404 });
      const history = await client.threads.getHistory(threadId, { limit: 100 });
      expect(JSON.stringify(history)).not.toContain('First answer');
    });

    test('steer: the message joins the run, whose stream the request follows', async () => {
      const { client, stack } = use();
      const threadId = await newThread(use());
      const first = await runHeld(use(), threadId);

      const second = read(
        client.runs.stream(threadId, ASSISTANT, {
          ...say('#say Second answer.'),
          streamMode: ['values', 'messages-tuple'],
          multitaskStrategy: 'steer',
        }),
      );
      expect(await runIdOf(second)).toBe(first.runId);
      stack.model.release(first.gate);
      await Promise.all([first.stream.end, second.end]);

      for (const { parts } of [first.stream, second])
        expect(textsOf(lastValues(parts))).toEqual([
          first.script,
          'First answer.',
          '#say Second answer.',
          'Second answer.',
        ]);
      expect((await client.runs.list(threadId)).map(({ run_id, status }) => [run_id, status])).toEqual([
        [first.runId, 'success'],
      ]);
    });

    test('enqueue: runs wait their turn in order; a queued one can be cancelled', async () => {
      const { client, stack } = use();
      const threadId = await newThread(use());
      const { gate, stream, script } = await runHeld(use(), threadId);
      const enqueue = (text: string) =>
        client.runs.create(threadId, ASSISTANT, {
          ...say(`#say ${text}`),
          streamMode: ['values'],
          multitaskStrategy: 'enqueue',
        });
      const [second, dropped, third] = [await enqueue('Second.'), await enqueue('Dropped.'), await enqueue('Third.')];
      expect(await client.runs.get(threadId, second.run_id)).toMatchObject({ status: 'pending' });
      await client.runs.cancel(threadId, dropped.run_id, true);

      stack.model.release(gate);
      await stream.end;
      const parts = await collect(client.runs.joinStream(threadId, third.run_id));

      expect(textsOf(lastValues(parts))).toEqual([
        script,
        'First answer.',
        '#say Second.',
        'Second.',
        '#say Third.',
        'Third.',
      ]);
      expect(await client.runs.get(threadId, second.run_id)).toMatchObject({ status: 'success' });
      expect(await client.runs.get(threadId, dropped.run_id)).toMatchObject({ status: 'interrupted' });
    });
  });
}
