import { FencedError, TooLargeError, UnavailableError } from '@caribou/contracts';
import { fakeRun } from '@caribou/testing';
import { executeAtMostOnce } from './execute-at-most-once.js';
import { Interrupted } from '../agent/interrupts.js';
import { RunDraining } from '../ports/sandbox-port.js';
import type { CallState, JournaledCall, ToolJournal } from './tool-journal.js';
import type { ToolOutcome } from '../agent/tool.js';

const outcome: ToolOutcome = { content: 'done it' };

function journalSaying(state: CallState, failure?: Error) {
  const entered: JournaledCall[] = [];
  const kept: ToolOutcome[] = [];
  const withdrawn: string[] = [];
  const journal: ToolJournal = {
    start: (call) => {
      entered.push(call);
      return Promise.resolve(state);
    },
    finish: (_, result) => {
      if (failure !== undefined) return Promise.reject(failure);
      kept.push(result);
      return Promise.resolve();
    },
    withdraw: (call) => {
      withdrawn.push(call.key);
      return Promise.resolve();
    },
  };
  return { journal, entered, kept, withdrawn };
}
const once = (journal: ToolJournal, make: () => Promise<ToolOutcome>, what: unknown = { a: 1, b: 2 }) =>
  executeAtMostOnce({ journal, context: { run: fakeRun({ epoch: 7 }), key: 'r:c' }, what }, make);
const never = (): Promise<ToolOutcome> => Promise.reject(new Error('called'));

describe(executeAtMostOnce, () => {
  test('a new call is entered under its key and epoch, executed, and its outcome stored', async () => {
    const { journal, entered, kept } = journalSaying({ state: 'new' });

    expect(await once(journal, () => Promise.resolve(outcome))).toEqual(outcome);
    expect(entered).toMatchObject([{ userId: 'default', threadId: 'thread-1', key: 'r:c', epoch: 7 }]);
    expect(kept).toEqual([outcome]);
  });

  test('what is known is not called again', async () => {
    expect(await once(journalSaying({ state: 'done', outcome }).journal, never)).toEqual(outcome);
    const unknown = await once(journalSaying({ state: 'unknown' }).journal, never);
    expect(unknown.isError).toBe(true);
    expect(unknown.content).toMatch(/^Error: The outcome of this call is unknown: .* It was not repeated/);
    expect(await once(journalSaying({ state: 'mismatch' }).journal, never)).toMatchObject({ isError: true });
  });

  test('equal arguments have equal hashes, whatever the order of their keys', async () => {
    const { journal, entered } = journalSaying({ state: 'done', outcome });
    for (const what of [{ a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } }, { a: { y: 2, x: [1] } }])
      await once(journal, never, what);

    const [first, second, third] = entered.map(({ argsHash }) => argsHash);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  test.each([new UnavailableError('away'), new TooLargeError('large')])(
    'an outcome that cannot be kept is told all the same (%s)',
    async (failure) => {
      const { journal } = journalSaying({ state: 'new' }, failure);
      expect(await once(journal, () => Promise.resolve(outcome))).toEqual(outcome);
    },
  );

  test('a call that asks a person is withdrawn, so that it begins again with the answer', async () => {
    const { journal, kept, withdrawn } = journalSaying({ state: 'new' });

    await expect(once(journal, () => Promise.reject(new Interrupted([])))).rejects.toThrow(Interrupted);
    expect(withdrawn).toEqual(['r:c']);
    expect(kept).toEqual([]);
  });

  test('who was overtaken hears it', async () => {
    const { journal } = journalSaying({ state: 'new' }, new FencedError('ended as unknown'));
    await expect(once(journal, () => Promise.resolve(outcome))).rejects.toThrow('ended as unknown');
  });

  describe('while the journal does not answer', () => {
    const away = new UnavailableError('Redis did not answer in time', { details: { dependency: 'redis' } });
    /** Its first starts fail; afterwards it answers `state`. */
    function journalAfter(failures: number, state: CallState) {
      const said = journalSaying(state);
      let left = failures;
      const first = (): Promise<void> => (left-- > 0 ? Promise.reject(away) : Promise.resolve());
      const journal: ToolJournal = {
        ...said.journal,
        start: (call) => first().then(() => said.journal.start(call)),
      };
      return { ...said, journal };
    }
    const callOn = (journal: ToolJournal, run = fakeRun({ epoch: 7 }), make = () => Promise.resolve(outcome)) =>
      executeAtMostOnce({ journal, context: { run, key: 'r:c' }, what: 1 }, make);

    test('the call waits, and is made once', async () => {
      const { journal, entered, kept } = journalAfter(3, { state: 'new' });
      expect(await callOn(journal)).toEqual(outcome);
      expect(entered).toHaveLength(1);
      expect(kept).toEqual([outcome]);
    });

    test('attempts of one execution are one attempt, and those of the next are another', async () => {
      const { journal, entered } = journalAfter(0, { state: 'new' });
      let isFirst = true;
      const forgetful: ToolJournal = {
        ...journal,
        start: async (call) => {
          const state = await journal.start(call);
          if (!isFirst) return state;
          isFirst = false;
          throw away;
        },
      };
      await callOn(forgetful);
      await callOn(forgetful);
      const [first, repeated, next] = entered.map(({ attempt }) => attempt);
      expect(repeated).toBe(first);
      expect(next).not.toBe(first);
    });

    test('a call that an earlier process has begun has not failed: its outcome is unknown', async () => {
      const { journal } = journalAfter(2, { state: 'unknown' });
      const result = await callOn(journal, fakeRun({ epoch: 7 }), never);
      expect(result).toMatchObject({ isError: true, isUnknown: true });
    });

    test('for a minute: another process continues the run', async () => {
      const { journal } = journalAfter(Number.POSITIVE_INFINITY, { state: 'new' });
      let nowMs = 0;
      const clock = {
        now: () => nowMs,
        monotonicMs: () => nowMs,
        sleep: (ms: number) => Promise.resolve(void (nowMs += ms)),
      };
      await expect(callOn(journal, fakeRun({ clock }), never)).rejects.toThrow(RunDraining);
      expect(nowMs).toBe(60_000);
    });

    test('and the run ends: its reason is thrown', async () => {
      const run = fakeRun();
      run.abort(new Error('cancelled'));
      const { journal } = journalAfter(Number.POSITIVE_INFINITY, { state: 'new' });
      await expect(callOn(journal, run, never)).rejects.toThrow('cancelled');
    });

    test('a question to a person is asked all the same', async () => {
      const { journal, withdrawn } = journalSaying({ state: 'new' });
      let left = 2;
      const failing: ToolJournal = {
        ...journal,
        withdraw: (call) => (left-- > 0 ? Promise.reject(away) : journal.withdraw(call)),
      };
      const asks = () => Promise.reject(new Interrupted([]));
      await expect(callOn(failing, fakeRun({ epoch: 7 }), asks)).rejects.toThrow(Interrupted);
      expect(withdrawn).toEqual(['r:c']);
    });
  });
});
