import { emptyMemory } from '@caribou/contracts';
import { fakeRun } from '@caribou/testing';
import type { EarlyRun } from '@caribou/runs';
import { ReadsOfRuns, type RunReaders } from './run-reads.js';

const AGENT = { custom: null, profile: '', makesAgent: false, skillNames: null };

const earlyRun = (isResumed = false): EarlyRun => ({ userId: 'default', threadId: 't1', context: {}, isResumed });

/** Readers that count how often each is asked. */
function countingReaders(over: Partial<RunReaders> = {}) {
  const asked: string[] = [];
  const counted = <Result>(name: string, result: Result): Result => {
    asked.push(name);
    return result;
  };
  const readMemory = () => counted('memory', Promise.resolve({ document: emptyMemory(), revision: 3, era: 1 }));
  const newestUpload = () => counted('uploads', Promise.resolve(7));
  const readers: RunReaders = {
    agentOf: () => counted('agent', Promise.resolve(AGENT)),
    skillsOf: () => counted('skills', Promise.resolve([])),
    offerTools: () => counted('tools', (builtIn) => Promise.resolve(builtIn)),
    memory: {
      read: readMemory,
      textFor: async (_run, reading = readMemory()) => `revision ${(await reading)?.revision}`,
    },
    conversions: {
      newestUpload,
      uploadsSince: async (_thread, _number, newest = newestUpload()) => ({ newest: await newest, names: [] }),
    },
    ...over,
  };
  return { asked, readers };
}

describe(ReadsOfRuns, () => {
  test('reads each thing once for a run, whoever begins', async () => {
    const { asked, readers } = countingReaders();
    const reads = new ReadsOfRuns(readers);
    const early = earlyRun();
    reads.begin(early);
    expect(asked).toEqual(['agent', 'skills', 'tools', 'memory', 'uploads']);

    const { agent, memory, uploadsSince } = reads.begin(early);

    expect(await agent).toBe(AGENT);
    expect(await memory(fakeRun())).toBe('revision 3');
    expect(await memory(fakeRun())).toBe('revision 3');
    expect(await uploadsSince(early, 0)).toMatchObject({ newest: 7 });
    expect(asked).toHaveLength(5);
    reads.begin(earlyRun());
    expect(asked).toHaveLength(10);
  });

  test('a run that executes finds what was read for it through any of its contexts', () => {
    const reads = new ReadsOfRuns(countingReaders().readers);
    const run = fakeRun();
    const early = earlyRun();
    const begun = reads.begin(early);
    expect(() => reads.of(run)).toThrow('nothing was read for this run');

    expect(reads.beginFor(run, early)).toBe(begun);

    expect(reads.of({ ...run })).toBe(begun);
    expect(() => reads.of({ signal: new AbortController().signal })).toThrow('nothing was read for this run');
  });

  test('a later look for uploads, as for a message that joins the run, reads again', async () => {
    const { asked, readers } = countingReaders();
    const { uploadsSince } = new ReadsOfRuns(readers).begin(earlyRun());
    await uploadsSince(earlyRun(), 0);

    await uploadsSince(earlyRun(), 0);

    expect(asked.filter((name) => name === 'uploads')).toHaveLength(2);
  });

  test('a run that is continued reads memory and uploads only when it asks for them', async () => {
    const { asked, readers } = countingReaders();
    const { memory, uploadsSince } = new ReadsOfRuns(readers).begin(earlyRun(true));
    expect(asked).toEqual(['agent', 'skills', 'tools']);

    expect(await memory(fakeRun())).toBe('revision 3');
    expect(await uploadsSince(earlyRun(), 0)).toMatchObject({ newest: 7 });
  });

  test('a failure is that of the loop that waits for it, and of nobody when the run ended before', async () => {
    const refused = () => Promise.reject(new Error('refused'));
    const { readers } = countingReaders({ agentOf: refused, skillsOf: refused });
    const refusing: RunReaders = {
      ...readers,
      memory: { ...readers.memory, read: refused },
      conversions: { ...readers.conversions, newestUpload: refused },
    };
    const unhandled = jest.fn();
    process.once('unhandledRejection', unhandled);

    const { agent, skills, memory, uploadsSince } = new ReadsOfRuns(refusing).begin(earlyRun());
    await new Promise(setImmediate);

    expect(unhandled).not.toHaveBeenCalled();
    process.removeListener('unhandledRejection', unhandled);
    for (const read of [agent, skills, memory(fakeRun()), uploadsSince(earlyRun(), 0)])
      await expect(read).rejects.toThrow('refused');
  });
});
