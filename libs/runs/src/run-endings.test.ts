import { setImmediate as nextTurnOfLoop } from 'node:timers/promises';
import { InvalidRequestError, TooLargeError, UnavailableError } from '@caribou/contracts';
import type { RunStore } from '@caribou/state';
import { dyingStore, type FakeSandbox, fakeSandbox, scriptedModel } from '@caribou/testing';
import type { AgentLoop } from './run-executor.js';
import { agentOn, type RunFixture, SCRIPT, useRunFixture } from './testing/run-fixture.js';

let runs: RunFixture;

useRunFixture((fixture) => {
  runs = fixture;
});

/** A process that dies in the run's first command: from then on its store and its sandbox never answer. */
function dyingInCommand() {
  let markDied: () => void = () => undefined;
  const died = new Promise<void>((resolve) => {
    markDied = resolve;
  });
  const never = new Promise<never>(() => undefined);
  let isDead = false;
  const store = new Proxy(runs.runStore(), {
    get: (target, name: keyof RunStore) => (isDead ? () => never : target[name].bind(target)),
  });
  const sandbox: FakeSandbox = {
    ...fakeSandbox(),
    exec: () => {
      isDead = true;
      markDied();
      return never;
    },
  };
  return { store, sandbox, died };
}

describe('what a run executes when its process dies in a command', () => {
  const endings = [
    { status: 'interrupted', deaths: 1, cancelled: true },
    { status: 'error', deaths: 3, cancelled: false },
  ] as const;

  test.each(endings)('is ended before the run ends as $status', async ({ status, deaths, cancelled }) => {
    const thread = await runs.admit();
    for (let death = 1; death <= deaths; death += 1) {
      const { store, sandbox, died } = dyingInCommand();
      void runs.executorOn(store, agentOn(sandbox)).handle(thread);
      await died;
      await runs.waitUntilUnowned(thread);
    }
    if (cancelled) await runs.threads.requestCancel(thread, thread.runId, 'interrupt');
    const open = (await runs.threads.head(thread))?.state.messages.at(-1);
    const statuses: string[] = [];
    const next = fakeSandbox();
    const sandbox: FakeSandbox = {
      ...next,
      cancel: async (...call) => {
        statuses.push((await runs.threads.getRun(thread, thread.runId)).status);
        return next.cancel(...call);
      },
    };

    await runs.takeOver(thread, agentOn(sandbox), { sandbox });

    expect((await runs.endingOf(thread)).status).toBe(status);
    expect(next.cancelled).toEqual(open?.type === 'ai' ? open.tool_calls.map(({ id }) => `${thread.runId}:${id}`) : []);
    expect(statuses).toEqual(['running']);
  });

  test('a manager that cannot be reached does not prevent the run from ending', async () => {
    const thread = await runs.admit();
    const { store, sandbox, died } = dyingInCommand();
    void runs.executorOn(store, agentOn(sandbox)).handle(thread);
    await died;
    await runs.threads.requestCancel(thread, thread.runId, 'interrupt');
    const unreachable = { ...fakeSandbox(), cancel: () => Promise.reject(new UnavailableError('NATS: not connected')) };

    await runs.takeOver(thread, agentOn(unreachable), { sandbox: unreachable });

    expect(await runs.endingOf(thread)).toMatchObject({ status: 'interrupted', ends: 1 });
  });
});

describe('endings', () => {
  test('a defect in a hook ends the run as an error whose text is not published', async () => {
    const thread = await runs.admit();

    await runs.takeOver(thread, () => Promise.reject(new TypeError('secret detail')));

    expect(await runs.endingOf(thread)).toEqual({
      status: 'error',
      error: { name: 'InternalError', message: 'internal error' },
      kinds: ['error', 'end'],
      ends: 1,
    });
  });

  test('an expected failure is reported with its own message', async () => {
    const thread = await runs.admit();

    await runs.takeOver(thread, () => Promise.reject(new InvalidRequestError('unknown model "x"')));

    expect(await runs.endingOf(thread)).toMatchObject({
      error: { name: 'InvalidRequestError', message: 'unknown model "x"' },
    });
  });

  test('a run that kills every runner ends as an error with a dead letter, and the next run works', async () => {
    const thread = await runs.admit();
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const { store, died } = dyingStore(runs.runStore(), { call: 2, after: false });
      void runs.executorOn(store, agentOn(fakeSandbox())).handle(thread);
      await died;
      await runs.waitUntilUnowned(thread);
    }

    await runs.takeOver(thread, agentOn(fakeSandbox()));

    const letters = await runs.runStore().listDeadLetters(10);
    expect(letters.find(({ id }) => id === thread.runId)).toMatchObject({
      entry: { user_id: thread.userId, thread_id: thread.threadId, attempt: 3 },
    });
    expect(await runs.endingOf(thread)).toMatchObject({
      status: 'error',
      error: { name: 'AttemptsExhausted' },
      ends: 1,
    });
  });

  test('a cancel that came before the claim ends the run without running it', async () => {
    const thread = await runs.admit();
    const model = scriptedModel(SCRIPT);
    const first = dyingStore(runs.runStore(), { call: 2, after: false });
    void runs.executorOn(first.store, agentOn(fakeSandbox())).handle(thread);
    await first.died;
    await runs.threads.requestCancel(thread, thread.runId, 'interrupt');

    await runs.takeOver(thread, agentOn(fakeSandbox(), model));

    expect(await runs.endingOf(thread)).toMatchObject({ status: 'interrupted', ends: 1 });
    expect(model.calls).toEqual([]);
  });

  test('a cancelled run keeps what its agent adds to the thread, unless it is rolled back', async () => {
    for (const action of ['interrupt', 'rollback'] as const) {
      const thread = await runs.admit();
      const first = dyingStore(runs.runStore(), { call: 3, after: false });
      void runs.executorOn(first.store, agentOn(fakeSandbox())).handle(thread);
      await first.died;
      await runs.threads.requestCancel(thread, thread.runId, action);

      await runs.takeOver(thread, agentOn(fakeSandbox()), {
        afterCancel: () => Promise.resolve({ update: { title: 'Named' } }),
      });

      expect((await runs.threads.getThread(thread)).values.title).toBe(action === 'interrupt' ? 'Named' : undefined);
      if (action === 'interrupt') expect(await runs.endingOf(thread)).toMatchObject({ status: 'interrupted', ends: 1 });
    }
  });

  test('a log that takes no more events ends the run as an error with its terminal event', async () => {
    const thread = await runs.admit();
    const store = runs.runStore();
    const full = new Proxy(store, {
      get: (target, name: keyof RunStore) =>
        name === 'append' ? () => Promise.reject(new TooLargeError('the log is full')) : target[name].bind(target),
    });

    const agent: AgentLoop = async ({ run }) => {
      for (let event = 0; ; event += 1) {
        await run.emit({ kind: 'custom', data: event });
        await nextTurnOfLoop();
      }
    };

    const handling = await runs.executorOn(full, agent).handle(thread);

    expect(handling).toMatchObject({ kind: 'ack', more: false });
    expect(await runs.endingOf(thread)).toMatchObject({ status: 'error', error: { name: 'TooLargeError' }, ends: 1 });
  });
});
