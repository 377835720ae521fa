import { heldAt, newGate } from '../calls.js';
import { answeredThread, ASSISTANT, contentsOf, type Entry, newThread, readUntil, saying, works } from './entry.js';

/** The calls of `client.runs`. */
export const runCalls: readonly Entry[] = [
  works(
    'runs.stream',
    'modes `values`, `messages-tuple`, `messages`, `updates`, `custom`, `events`, `debug`, `tasks`, `checkpoints`, `tools`',
    async (proof) => {
      const { client } = proof;
      const ofThread = await readUntil(
        client.runs.stream(await newThread(proof), ASSISTANT, { ...saying(), streamMode: ['updates'] }),
      );
      const alone = await readUntil(client.runs.stream(null, ASSISTANT, { ...saying(), streamMode: 'messages-tuple' }));
      expect([ofThread, alone].map((parts) => parts[1]?.event)).toEqual(['updates', 'messages']);
    },
  ),
  works('runs.create', 'with a thread, or with `null` on one of its own', async (proof) => {
    const { client } = proof;
    const threadId = await newThread(proof);
    const created: string[] = [];
    const options = { ...saying(), onRunCreated: ({ run_id }: { run_id: string }) => void created.push(run_id) };
    const run = await client.runs.create(threadId, ASSISTANT, options);
    const alone = await client.runs.create(null, ASSISTANT, options);
    expect(created).toEqual([run.run_id, alone.run_id]);
    expect(contentsOf(await client.runs.join(threadId, run.run_id))).toEqual(['#say Hello.', 'Hello.']);
  }),
  works('runs.createBatch', '', async ({ client }) => {
    const runs = await client.runs.createBatch([
      { assistantId: ASSISTANT, ...saying('#say A.'), streamMode: ['values'] },
      { assistantId: ASSISTANT, ...saying('#say B.'), multitaskStrategy: 'reject' },
    ]);
    expect(runs).toHaveLength(2);
    const answers = await Promise.all(runs.map(({ thread_id, run_id }) => client.runs.join(thread_id, run_id)));
    expect(answers.map((values) => contentsOf(values)[1])).toEqual(['A.', 'B.']);
  }),
  works('runs.wait', '`raiseError` too', async (proof) => {
    const values = await proof.client.runs.wait(await newThread(proof), ASSISTANT, saying());
    expect(contentsOf(values)).toEqual(['#say Hello.', 'Hello.']);
  }),
  works('runs.list', '`status`, `select`, pages', async (proof) => {
    const threadId = await answeredThread(proof);
    expect(await proof.client.runs.list(threadId, { status: 'success', select: ['status'], limit: 1 })).toEqual([
      { status: 'success' },
    ]);
  }),
  works('runs.get', '', async (proof) => {
    const threadId = await answeredThread(proof);
    const [run] = await proof.client.runs.list(threadId);
    expect(await proof.client.runs.get(threadId, run?.run_id ?? '')).toMatchObject({ status: 'success' });
  }),
  works('runs.cancel', '`wait` and `action`; `reason` is a 422', async (proof) => {
    const { client } = proof;
    const gate = newGate();
    const threadId = await newThread(proof);
    const { run_id } = await client.runs.create(threadId, ASSISTANT, saying(`#hold ${gate}\n#say x`));
    await heldAt(proof, gate);
    await expect(client.runs.cancel(threadId, run_id, false, 'interrupt', { reason: 'taken' })).rejects.toMatchObject({
      status: 422,
    });
    await client.runs.cancel(threadId, run_id, true);
    expect(await client.runs.get(threadId, run_id)).toMatchObject({ status: 'interrupted' });
  }),
  works('runs.cancelMany', 'by ids, by thread, by status; unknown ids are a 404 and cancel none', async (proof) => {
    const { client } = proof;
    const gate = newGate();
    const threadId = await newThread(proof);
    const { run_id } = await client.runs.create(threadId, ASSISTANT, saying(`#hold ${gate}\n#say x`));
    const queued = await client.runs.create(threadId, ASSISTANT, { ...saying(), multitaskStrategy: 'enqueue' });
    await heldAt(proof, gate);
    await client.runs.cancelMany({ threadId, status: 'pending' });
    expect(await client.runs.get(threadId, queued.run_id)).toMatchObject({ status: 'interrupted' });
    await client.runs.cancelMany({ threadId, runIds: [run_id], action: 'interrupt' });
    await client.runs.join(threadId, run_id);
    expect(await client.runs.get(threadId, run_id)).toMatchObject({ status: 'interrupted' });
  }),
  works('runs.join', '', async (proof) => {
    const threadId = await newThread(proof);
    const { run_id } = await proof.client.runs.create(threadId, ASSISTANT, saying());
    expect(contentsOf(await proof.client.runs.join(threadId, run_id, { cancelOnDisconnect: false }))).toHaveLength(2);
  }),
  works(
    'runs.joinStream',
    'with a thread or `null`; `lastEventId`, `streamMode`; `checkpointId` changes nothing',
    async (proof) => {
      const { client } = proof;
      const threadId = await newThread(proof);
      const { run_id } = await client.runs.create(threadId, ASSISTANT, saying());
      await client.runs.join(threadId, run_id);
      const whole = await readUntil(
        client.runs.joinStream(threadId, run_id, {
          streamMode: ['values'],
          streamNamespaces: [''],
          checkpointId: threadId,
        }),
      );
      const rest = await readUntil(
        client.runs.joinStream(null, run_id, { streamMode: ['values'], lastEventId: whole[0]?.id ?? '' }),
      );
      expect(rest).toEqual(whole.slice(1));
    },
  ),
  works('runs.delete', '409 while it is in flight', async (proof) => {
    const threadId = await answeredThread(proof);
    const [run] = await proof.client.runs.list(threadId);
    await proof.client.runs.delete(threadId, run?.run_id ?? '');
    expect(await proof.client.runs.list(threadId)).toEqual([]);
  }),
];
