import { fakeRun, sampleRun } from '@caribou/testing';
import type { Claimed } from '@caribou/runs';
import { type EarlyInput, ReadsOfRuns, type RunReaders } from './run-reads.js';

const AGENT = { custom: null, profile: '', makesAgent: false, skillNames: null };

function inputOf(inputCommitted = false): EarlyInput {
  const lease = { userId: 'default', threadId: 't1', runId: 'r1', ownerId: 'o1', epoch: 1 };
  const head = { checkpointId: null, metadata: null, next: [], state: { messages: [] }, log: undefined };
  const run = sampleRun({ input_committed: inputCommitted });
  const claimed: Claimed = { kind: 'run', lease, run, head, exhausted: false, ranMs: 0 };
  return { run: fakeRun(), claimed };
}

/** Readers that count how often each is asked. */
function countingReaders(over: Partial<RunReaders> = {}) {
  const asked: string[] = [];
  const counted = <Result>(name: string, result: Result): Result => {
    asked.push(name);
    return result;
  };
  const readers: RunReaders = {
    agentOf: () => counted('agent', Promise.resolve(AGENT)),
    skillsOf: () => counted('skills', Promise.resolve([])),
    offerTools: () => counted('tools', (builtIn) => Promise.resolve(builtIn)),
    memoryOf: () => counted('memory', Promise.resolve('likes maps')),
    ...over,
  };
  return { asked, readers };
}

describe(ReadsOfRuns, () => {
  test('reads each thing once for a run, whoever begins', async () => {
    const { asked, readers } = countingReaders();
    const reads = new ReadsOfRuns(readers);
    const input = inputOf();
    reads.begin(input);
    expect(asked).toEqual(['agent', 'skills', 'tools', 'memory']);

    const { agent, memory } = reads.begin({ ...input });

    expect(await agent).toBe(AGENT);
    expect(await memory()).toBe('likes maps');
    expect(await memory()).toBe('likes maps');
    expect(asked).toHaveLength(4);
    reads.begin(inputOf());
    expect(asked).toHaveLength(8);
  });

  test('a run that is continued reads the memory only when it asks for it', async () => {
    const { asked, readers } = countingReaders();
    const { memory } = new ReadsOfRuns(readers).begin(inputOf(true));
    expect(asked).not.toContain('memory');

    expect(await memory()).toBe('likes maps');
  });

  test('a failure is that of the loop that waits for it, and of nobody when the run ended before', async () => {
    const refused = () => Promise.reject(new Error('refused'));
    const { readers } = countingReaders({ agentOf: refused, skillsOf: refused, memoryOf: refused });
    const unhandled = jest.fn();
    process.once('unhandledRejection', unhandled);

    const { agent, skills, memory } = new ReadsOfRuns(readers).begin(inputOf());
    await new Promise(setImmediate);

    expect(unhandled).not.toHaveBeenCalled();
    process.removeListener('unhandledRejection', unhandled);
    for (const read of [agent, skills, memory()]) await expect(read).rejects.toThrow('refused');
  });
});
