import { randomUUID } from 'node:crypto';
import { heldAt, newGate } from '../calls.js';
import {
  answeredThread,
  ASSISTANT,
  contentsOf,
  type Entry,
  newThread,
  type Proof,
  readUntil,
  refused,
  type Refusal,
  saying,
  works,
} from './entry.js';

type RunOptions = Parameters<Proof['client']['runs']['wait']>[2];

const waitWith = async ({ client }: Proof, options: RunOptions, threadId?: string) =>
  client.runs.wait(threadId ?? (await newThread({ client } as Proof)), ASSISTANT, { ...saying(), ...options });

/** A field whose proof is a run with it that answers as it would without. */
const taken = (name: string, note: string, ...values: RunOptions[]): Entry =>
  works(name, note, async (proof) => {
    for (const options of values) expect(contentsOf(await waitWith(proof, options))).toContain('Hello.');
  });

const refusedField = (name: string, note: string, says: string, options: RunOptions): Entry => {
  const refusal: Refusal = { status: 422, says };
  return refused(name, note, refusal, (proof) => waitWith(proof, options));
};

/** The state of a run's thread after a run with these options. */
async function nextAfter(proof: Proof, options: RunOptions): Promise<readonly string[]> {
  const threadId = await newThread(proof);
  await waitWith(proof, options, threadId);
  return (await proof.client.threads.getState(threadId)).next;
}

/** Every option of `runs.stream`, `create` and `wait` in the types of the SDK. */
export const runFields: readonly Entry[] = [
  works('input', 'messages, `title`, `todos`, `artifacts`; `null` continues from the head', async (proof) => {
    const threadId = await newThread(proof);
    await proof.client.threads.updateState(threadId, { values: saying().input, asNode: '__start__' });
    expect(contentsOf(await waitWith(proof, { input: null }, threadId))).toEqual(['#say Hello.', 'Hello.']);
  }),
  works('metadata', 'at most 64 KiB', async ({ client, stack }) => {
    const threadId = await newThread({ client, stack });
    expect(await client.runs.create(threadId, ASSISTANT, { ...saying(), metadata: { a: 1 } })).toMatchObject({
      metadata: { a: 1 },
    });
  }),
  works(
    'config',
    '`recursion_limit`, `configurable`, `metadata`; `tags` are a 422. `configurable.thread_id` must be that of the path',
    async (proof) => {
      const { client } = proof;
      const threadId = await answeredThread(proof);
      const [, first] = await client.threads.getHistory(threadId, { limit: 50 });
      const configurable = { thread_id: threadId, checkpoint_id: first?.checkpoint.checkpoint_id ?? '' };
      expect(
        contentsOf(await waitWith(proof, { ...saying('#say Fork.'), config: { configurable } }, threadId)),
      ).toContain('Fork.');
      const other = { configurable: { thread_id: randomUUID() } };
      await expect(waitWith(proof, { config: other }, threadId)).rejects.toMatchObject({ status: 422 });
      await expect(waitWith(proof, { config: { tags: ['x'] } }, threadId)).rejects.toMatchObject({ status: 422 });
    },
  ),
  taken('context', '[settings of the run](#settings-of-a-run)', {
    context: { thinking_enabled: false, temperature: 0.5 },
  }),
  works('checkpointId', 'the run forks there', async (proof) => {
    const threadId = await answeredThread(proof);
    const history = await proof.client.threads.getHistory(threadId, { limit: 50 });
    const checkpointId = history.at(-1)?.checkpoint.checkpoint_id ?? '';
    expect(contentsOf(await waitWith(proof, { ...saying('#say Fork.'), checkpointId }, threadId))).toContain('Fork.');
  }),
  works('checkpoint', 'the same; a `checkpoint_ns` of a subgraph is a 422', async (proof) => {
    const threadId = await answeredThread(proof);
    const { checkpoint } = await proof.client.threads.getState(threadId);
    expect(contentsOf(await waitWith(proof, { ...saying('#say On.'), checkpoint }, threadId))).toContain('On.');
    const inSubgraph = { ...checkpoint, checkpoint_ns: 'tools:1' };
    await expect(waitWith(proof, { checkpoint: inSubgraph }, threadId)).rejects.toMatchObject({ status: 422 });
  }),
  taken('checkpointDuring', 'every step is stored, whatever it says', { checkpointDuring: false }),
  taken(
    'durability',
    'each value: a step is stored before the next begins, which is more than `sync` asks for',
    { durability: 'exit' },
    { durability: 'async' },
    { durability: 'sync' },
  ),
  works('interruptBefore', '`*`, `model_request`, `tools`; a node that there is not is a 422', async (proof) => {
    expect(await nextAfter(proof, { interruptBefore: ['model_request'] })).toEqual(['model_request']);
    await expect(waitWith(proof, { interruptBefore: ['agent'] })).rejects.toMatchObject({ status: 422 });
  }),
  works('interruptAfter', 'the same', async (proof) => {
    const options = { ...saying('#tool ls {"path":"/mnt/user-data"}\n#say Done.'), interruptAfter: ['model_request'] };
    expect(await nextAfter(proof, options)).toEqual(['tools']);
  }),
  works(
    'multitaskStrategy',
    '`reject`, `interrupt`, `rollback`, `enqueue`; `steer` gives messages to the run under way: [steering](steering.md)',
    async (proof) => {
      const { client } = proof;
      const gate = newGate();
      const threadId = await newThread(proof);
      await client.runs.create(threadId, ASSISTANT, saying(`#hold ${gate}\n#say x`));
      await heldAt(proof, gate);
      await expect(waitWith(proof, { multitaskStrategy: 'reject' }, threadId)).rejects.toMatchObject({ status: 409 });
      expect(contentsOf(await waitWith(proof, { multitaskStrategy: 'interrupt' }, threadId))).toContain('Hello.');
    },
  ),
  taken('signal', 'of the client', { signal: new AbortController().signal }),
  refusedField(
    'onCompletion',
    'the types of the SDK say `complete` and `continue`, which no server knows. `delete` and `keep` are taken for runs without a thread',
    'on_completion',
    { onCompletion: 'complete' },
  ),
  works(
    'webhook',
    'signed, and repeated for a day: [webhooks](webhooks.md). A private address is a 422',
    async (proof) => {
      const local = { webhook: 'http://127.0.0.1/' };
      await expect(waitWith(proof, local)).rejects.toMatchObject({ status: 422 });
      expect(contentsOf(await waitWith(proof, { webhook: 'https://example.org/hook' }))).toContain('Hello.');
    },
  ),
  works('onDisconnect', '`cancel` of `stream` and `wait`', async (proof) => {
    const { client } = proof;
    const gate = newGate();
    const threadId = await newThread(proof);
    const stop = new AbortController();
    const options = { ...saying(`#hold ${gate}\n#say x`), onDisconnect: 'cancel' as const, signal: stop.signal };
    const reading = readUntil(client.runs.stream(threadId, ASSISTANT, options)).catch(() => undefined);
    await heldAt(proof, gate);
    stop.abort();
    await reading;
    const [run] = await client.runs.list(threadId);
    await client.runs.join(threadId, run?.run_id ?? '');
    expect(await client.runs.get(threadId, run?.run_id ?? '')).toMatchObject({ status: 'interrupted' });
  }),
  works('afterSeconds', 'at most 30 days: [crons](crons.md#delayed-runs)', async (proof) => {
    const { client } = proof;
    const threadId = await newThread(proof);
    const run = await client.runs.create(threadId, ASSISTANT, { ...saying(), afterSeconds: 1 });
    expect(run.status).toBe('pending');
    await client.runs.join(threadId, run.run_id);
    expect(await client.runs.get(threadId, run.run_id)).toMatchObject({ status: 'success' });
  }),
  works('ifNotExists', '', async (proof) => {
    const threadId = randomUUID();
    await expect(waitWith(proof, { ifNotExists: 'reject' }, threadId)).rejects.toMatchObject({ status: 404 });
    expect(contentsOf(await waitWith(proof, { ifNotExists: 'create' }, threadId))).toContain('Hello.');
  }),
  works(
    'command',
    '`resume`, `goto`, `update`: [interrupts](interrupts.md). A resume of a thread that waits for nothing is a 409',
    async (proof) => {
      const threadId = await newThread(proof);
      const command = { update: saying().input, goto: 'model_request' };
      expect(contentsOf(await waitWith(proof, { input: null, command }, threadId))).toEqual(['#say Hello.', 'Hello.']);
      const resume = waitWith(proof, { input: null, command: { resume: 1 } }, threadId);
      await expect(resume).rejects.toMatchObject({ status: 409 });
    },
  ),
  works(
    'strictResume',
    'always: a resume that answers no waiting interrupt is a 409, and the thread stays as it was',
    async (proof) => {
      const threadId = await answeredThread(proof);
      for (const strictResume of [true, false]) {
        const resume = waitWith(proof, { input: null, command: { resume: 1 }, strictResume }, threadId);
        await expect(resume).rejects.toMatchObject({ status: 409 });
      }
      expect(await proof.client.runs.list(threadId)).toHaveLength(1);
    },
  ),
  works('onRunCreated', 'of the client, by `Content-Location`', async (proof) => {
    const created: { run_id: string; thread_id?: string }[] = [];
    const threadId = await newThread(proof);
    await waitWith(proof, { onRunCreated: (run) => void created.push(run) }, threadId);
    expect(created).toEqual([{ run_id: expect.any(String), thread_id: threadId }]);
  }),
  refusedField(
    '_langsmithTracer',
    'traces go to the collector of `OTEL_EXPORTER_OTLP_ENDPOINT`',
    'langsmith_tracer: is not supported',
    {
      _langsmithTracer: { projectName: 'p', exampleId: 'e' } as never,
    },
  ),
  works('streamMode', 'see `runs.stream`; `lifecycle` is a 422', async (proof) => {
    const options = { ...saying(), streamMode: 'lifecycle' as never };
    await expect(proof.client.runs.create(await newThread(proof), ASSISTANT, options)).rejects.toMatchObject({
      status: 422,
    });
    const parts = await readUntil(
      proof.client.runs.stream(null, ASSISTANT, { ...saying(), streamMode: ['updates', 'values'] }),
    );
    expect(parts.map(({ event }) => event)).toEqual(expect.arrayContaining(['updates', 'values']));
  }),
  works(
    'streamSubgraphs',
    'there are none; subagents are `custom` events and [routes of their own](subagents.md)',
    async ({ client }) => {
      const parts = await readUntil(
        client.runs.stream(null, ASSISTANT, { ...saying(), streamSubgraphs: true, streamMode: 'values' }),
      );
      expect(parts.map(({ event }) => event)).toContain('values');
    },
  ),
  works('streamNamespaces', '`""`, the root, is the only one; another is a 422', async ({ client }) => {
    const stream = (streamNamespaces: string[]) =>
      readUntil(client.runs.stream(null, ASSISTANT, { ...saying(), streamNamespaces }));
    expect((await stream([''])).length).toBeGreaterThan(1);
    await expect(stream(['tools:1'])).rejects.toMatchObject({ status: 422 });
  }),
  works('streamResumable', 'every stream can be resumed, whatever it says', async ({ client }) => {
    const parts = await readUntil(client.runs.stream(null, ASSISTANT, { ...saying(), streamResumable: false }));
    expect(parts.every(({ event, id }) => event === 'error' || id !== undefined)).toBe(true);
  }),
  works('streamIdleReconnect', 'of the client; heartbeats come every 5 s', async ({ client }) => {
    const parts = await readUntil(client.runs.stream(null, ASSISTANT, { ...saying(), streamIdleReconnect: 10_000 }));
    expect(parts.length).toBeGreaterThan(1);
  }),
  refused(
    'feedbackKeys',
    'no links for feedback; send it to `PUT /threads/{thread_id}/runs/{run_id}/feedback`',
    { status: 422, says: 'feedback_keys: is not supported' },
    async (proof) =>
      proof.client.runs.create(await newThread(proof), ASSISTANT, { ...saying(), feedbackKeys: ['score'] }),
  ),
  works('raiseError', 'of the client', async (proof) => {
    const failing = saying('#error 400 nope');
    await expect(waitWith(proof, failing)).rejects.toThrow();
    expect(await waitWith(proof, { ...failing, raiseError: false })).toMatchObject({
      __error__: { message: expect.any(String) },
    });
  }),
];
