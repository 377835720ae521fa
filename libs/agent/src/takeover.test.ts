import { type Message, textOf, type ThreadState } from '@caribou/contracts';
import { leadChain } from '@caribou/middleware';
import {
  type Cut,
  fakeRun,
  type FakeSandbox,
  fakeSandbox,
  humanMessage,
  runWithCuts,
  type ScriptedAnswer,
  type ScriptedCall,
  scriptedModel,
  transcriptFaults,
} from '@caribou/testing';
import { leadTools } from '@caribou/tools';
import fc from 'fast-check';
import { runAgent } from './run-agent.js';

const call: fc.Arbitrary<ScriptedCall> = fc.oneof(
  fc.nat({ max: 99 }).map((word) => ({ name: 'bash', args: { command: `echo ${word}` } })),
  fc.nat({ max: 9 }).map((line) => ({ name: 'write_file', args: { path: '/f', content: `${line}`, append: true } })),
  // Reads run again after a takeover, so beside a write of the same file they may see more; here they never do.
  fc.constant({ name: 'read_file', args: { path: '/other' } }),
  fc.constant({ name: 'nowhere' }),
  fc.constant({ name: 'bash', args: '{"cut' }),
);
const answer: fc.Arbitrary<ScriptedAnswer> = fc.record({
  content: fc.array(fc.constantFrom('a', 'b ', 'c'), { maxLength: 3 }),
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
});
const cut: fc.Arbitrary<Cut> = fc.oneof(
  fc.record({ kind: fc.constant('death' as const), commit: fc.integer({ min: 1, max: 4 }), written: fc.boolean() }),
  fc.record({ kind: fc.constant('yield' as const), commit: fc.integer({ min: 1, max: 4 }) }),
);

interface Run {
  readonly state: ThreadState;
  readonly sandbox: FakeSandbox;
  readonly attempts: number;
}

/** The person's message names a file that is there, of which the agent is told in front of the words. */
const asked = { ...humanMessage('go', 'h1'), additional_kwargs: { files: [{ filename: 'a.txt' }] } };

async function sandboxWithUpload(): Promise<FakeSandbox> {
  const sandbox = fakeSandbox();
  const { userId, threadId, epoch, signal } = fakeRun();
  const file = { key: 'upload', path: '/mnt/user-data/uploads/a.txt', content: 'x', append: false };
  await sandbox.write({ userId, threadId, epoch }, file, signal);
  return sandbox;
}

/** Runs a script to its end, over all attempts. */
async function runScript(script: readonly ScriptedAnswer[], cuts: readonly Cut[]): Promise<Run> {
  const sandbox = await sandboxWithUpload();
  const model = scriptedModel(script);
  const { outcome, attempts } = await runWithCuts({ messages: [asked] }, cuts, ({ attempt, ...from }) =>
    runAgent({
      ...from,
      chain: leadChain({ sandbox, model }),
      tools: leadTools({ sandbox }),
      model,
      systemPrompt: '',
      options: { maxTurns: 50 },
      run: fakeRun({ attempt }),
    }),
  );
  return { state: outcome.last.state, sandbox, attempts };
}

/** A transcript without its ids. */
const withoutIds = (messages: readonly Message[]): readonly unknown[] =>
  messages.map((message) => ({
    type: message.type,
    text: textOf(message.content),
    ...(message.type === 'tool' ? { name: message.name, status: message.status } : {}),
    ...(message.type === 'ai' ? { calls: message.tool_calls.map(({ name, args }) => ({ name, args })) } : {}),
  }));

describe('a run that is taken over', () => {
  test('ends with the transcript, files and title of an undisturbed run, each side effect done once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 4 }), fc.array(cut, { maxLength: 4 }), async (script, cuts) => {
        const undisturbed = await runScript(script, []);
        const disturbed = await runScript(script, cuts);

        expect(withoutIds(disturbed.state.messages)).toEqual(withoutIds(undisturbed.state.messages));
        expect({ ...disturbed.state, messages: [] }).toEqual({ ...undisturbed.state, messages: [] });
        expect([...disturbed.sandbox.files]).toEqual([...undisturbed.sandbox.files]);
        expect(disturbed.sandbox.executed).toEqual(undisturbed.sandbox.executed);
      }),
      { numRuns: 150 },
    );
  });

  test.each([
    { kind: 'death', commit: 1, written: false },
    { kind: 'death', commit: 1, written: true },
    { kind: 'death', commit: 2, written: false },
    { kind: 'death', commit: 2, written: true },
    { kind: 'yield', commit: 1 },
    { kind: 'yield', commit: 2 },
  ] as const)('at %j really goes on in a second attempt, every message id once', async (end) => {
    const script: ScriptedAnswer[] = [{ content: 'look', calls: [{ name: 'bash', args: { command: 'echo 1' } }] }];

    const { state, sandbox, attempts } = await runScript(script, [end]);

    const ids = state.messages.map((message) => message.id);
    expect(attempts).toBe(2);
    expect(new Set(ids).size).toBe(ids.length);
    expect(sandbox.executed).toEqual(['echo 1']);
    expect(state.messages).toHaveLength(4);
    expect(textOf(state.messages[0]?.content ?? '').split('<uploaded_files>')).toHaveLength(2);
    expect(state.uploaded_files).toEqual([expect.objectContaining({ filename: 'a.txt' })]);
  });

  test('every transcript without invalid calls is legal for a strict provider as it stands', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 3 }), fc.array(cut, { maxLength: 2 }), async (script, cuts) => {
        const valid = script.map((entry) => ({
          ...entry,
          calls: entry.calls?.filter(({ args }) => typeof args !== 'string') ?? [],
        }));

        expect(transcriptFaults((await runScript(valid, cuts)).state.messages)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});
