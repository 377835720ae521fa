import { newId, type RunKwargs } from '@caribou/contracts';
import {
  admission,
  dyingStore,
  type FakeSandbox,
  fakeSandbox,
  human,
  scriptedModel,
  transcriptFaults,
} from '@caribou/testing';
import { redisRunStore } from '@caribou/state';
import {
  agentOn,
  kwargs,
  LEASE_MS,
  type RunFixture,
  type RunKey,
  SCRIPT,
  useRunFixture,
} from './testing/run-fixture.js';

let runs: RunFixture;

useRunFixture((fixture) => {
  runs = fixture;
});

const pause = (thread: RunKey) => runs.threads.requestPause(thread, thread.runId);

/** A sandbox in which a command waits until `during` is done. */
const withCommand = (sandbox: FakeSandbox, during: () => Promise<unknown>): FakeSandbox => ({
  ...sandbox,
  exec: async (...args) => {
    await during();
    return sandbox.exec(...args);
  },
});

const openOf = async (thread: RunKey) => (await runs.threads.getThread(thread)).values.interrupts?.open ?? [];

/** Continues the thread as a client does that answers the interrupt of the pause. */
async function resume(thread: RunKey): Promise<RunKey> {
  const [paused] = await openOf(thread);
  const command: RunKwargs['command'] = { answers: { [paused?.id ?? '']: true }, answered_by: thread.userId };
  const request = { ...admission(thread), runId: newId(), kwargs: { ...kwargs('x'), input: null, command } };
  const { run } = await runs.threads.admit({ ...request, multitaskStrategy: 'reject' });
  return { ...thread, runId: run.run_id };
}

/** The thread has the whole transcript of `SCRIPT`, over two runs, and its command was executed once. */
async function expectWhole(resumed: RunKey, sandbox: FakeSandbox): Promise<void> {
  const messages = (await runs.threads.head(resumed))?.state.messages ?? [];
  expect(transcriptFaults(messages)).toEqual([]);
  expect(messages.map(({ content }) => content)).toEqual(['count', 'Looking', 'one\n', 'It says one.']);
  expect(sandbox.executed).toEqual(['echo one']);
  expect(await runs.endingOf(resumed)).toMatchObject({ status: 'success', ends: 1 });
  expect((await runs.threads.getThread(resumed)).status).toBe('idle');
}

const typesOf = async (thread: RunKey) => (await runs.threads.head(thread))?.state.messages.map(({ type }) => type);

test('a run that is paused during a tool call ends after it, and continues from there when it is resumed', async () => {
  const thread = await runs.admit();
  const sandbox = fakeSandbox();

  expect(await runs.takeOver(thread, agentOn(withCommand(sandbox, () => pause(thread))))).toMatchObject({
    kind: 'ack',
    more: false,
  });

  expect(await runs.endingOf(thread)).toMatchObject({ status: 'interrupted', kinds: ['checkpoint', 'end'], ends: 1 });
  expect(await typesOf(thread)).toEqual(['human', 'ai', 'tool']);
  expect((await runs.threads.getThread(thread)).status).toBe('interrupted');
  expect(await openOf(thread)).toMatchObject([{ kind: 'paused', run_id: thread.runId, value: { type: 'paused' } }]);
  expect(await redisRunStore(runs.redis).listUnowned(10)).toEqual([]);

  const resumed = await resume(thread);
  await runs.takeOver(resumed, agentOn(sandbox));

  await expectWhole(resumed, sandbox);
  expect(await openOf(thread)).toEqual([]);
});

test('a run that waits commits its input first; resumed, it begins with the hooks of a start', async () => {
  const thread = await runs.admit();
  await pause(thread);
  const sandbox = fakeSandbox();

  await runs.takeOver(thread, agentOn(sandbox));

  expect(await runs.endingOf(thread)).toMatchObject({ status: 'interrupted', ends: 1 });
  expect(await typesOf(thread)).toEqual(['human']);
  expect((await runs.threads.head(thread))?.state.thread_data).toBeUndefined();
  expect(sandbox.executed).toEqual([]);

  const resumed = await resume(thread);
  await runs.takeOver(resumed, agentOn(sandbox));
  await runs.expectComplete(resumed, sandbox);
  expect((await runs.threads.head(thread))?.state.thread_data).toBeDefined();
});

test('messages that were given to a paused run join when it is resumed', async () => {
  const thread = await runs.admit();
  const sandbox = fakeSandbox();
  const during = async (): Promise<void> => {
    await pause(thread);
    await runs.threads.admit({
      ...{ ...admission(thread), multitaskStrategy: 'steer' },
      kwargs: { ...kwargs('x'), input: { messages: [human('briefly')] } },
    });
  };
  await runs.takeOver(thread, agentOn(withCommand(sandbox, during)));
  expect(await typesOf(thread)).toEqual(['human', 'ai', 'tool']);

  const resumed = await resume(thread);
  await runs.takeOver(resumed, agentOn(sandbox, scriptedModel(SCRIPT)));

  expect(await typesOf(resumed)).toEqual(['human', 'ai', 'tool', 'human', 'ai']);
});

test('a run that ends before its next step is not paused', async () => {
  const thread = await runs.admit();
  const model = scriptedModel([{ content: 'Done.' }]);
  const stream = model.stream.bind(model);
  const paused = Object.assign(model, {
    async *stream(...args: Parameters<typeof stream>) {
      await pause(thread);
      yield* stream(...args);
    },
  });

  await runs.takeOver(thread, agentOn(fakeSandbox(), paused));

  expect(await runs.endingOf(thread)).toMatchObject({ status: 'success', ends: 1 });
  expect(await openOf(thread)).toEqual([]);
});

test('what cannot be paused is refused with its reason', async () => {
  const thread = await runs.admit();
  await pause(thread);
  await expect(pause(thread)).rejects.toThrow('was asked to pause before');
  await expect(pause({ ...thread, runId: newId() })).rejects.toThrow('does not exist');
  await runs.takeOver(thread, agentOn(fakeSandbox()));
  await expect(pause(thread)).rejects.toThrow('it has ended (interrupted)');

  const cancelled = await runs.admit(kwargs('more').input, thread);
  await runs.runStore().claim(cancelled, newId());
  await runs.threads.requestCancel(cancelled, cancelled.runId, 'interrupt');
  await expect(pause(cancelled)).rejects.toThrow('it was asked to stop');
});

const deaths = Array.from({ length: 7 }, (_, index) => index + 1).flatMap((call) => [
  { call, after: false },
  { call, after: true },
]);

test.each(deaths)(
  'a death at store call $call (after it: $after) neither loses nor doubles the pause',
  async (death) => {
    const thread = await runs.admit();
    const sandbox = fakeSandbox();
    let asked: Promise<unknown> | undefined;
    const agent = agentOn(withCommand(sandbox, () => (asked ??= pause(thread).catch(() => undefined))));
    const { store, died } = dyingStore(redisRunStore(runs.redis, { leaseMs: LEASE_MS }), death);

    const begun = runs.executorOn(store, agent).handle(thread);
    await Promise.race([died, begun]);
    await runs.takeOver(thread, agent);

    expect(await runs.endingOf(thread)).toMatchObject({ status: 'interrupted', ends: 1 });
    expect(await openOf(thread)).toHaveLength(1);
    const resumed = await resume(thread);
    await runs.takeOver(resumed, agentOn(sandbox));
    await expectWhole(resumed, sandbox);
  },
);
