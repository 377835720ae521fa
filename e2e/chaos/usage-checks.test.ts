import type { Message } from '@caribou/contracts';
import { ai, human } from '@caribou/testing';
import type { History, LedgerCount, ProviderCall, RunHistory } from './history.js';
import { providerCallOf } from './provider-calls.js';
import { usageFigures, usageViolations } from './usage-checks.js';

const SCRIPT = 'w0x0x0z\n#say Hello';

const run = (over: Partial<RunHistory> = {}): RunHistory => ({
  ...{ threadId: 't1', runId: 'r1', kind: 'plain', script: SCRIPT, may: ['success'], acceptedAtMs: 1, segments: [] },
  ...{ stuck: false, attempts: 1, errors: [], status: 'success', replay: undefined },
  ...over,
});

const call = (over: Partial<ProviderCall> = {}): ProviderCall => {
  const { text = SCRIPT, step = 0 } = over;
  const tokens = { model: 'm', input: 10, cached: 5, output: 2 };
  return { kind: 'run', key: `${step} ${text}`, step, text, ...tokens, ...over };
};
const row = (over: Partial<LedgerCount> = {}): LedgerCount => ({
  ...{ agent: 'lead_agent', model: 'm', calls: 1, input: 10, cached: 5, output: 2 },
  ...over,
});
const times = (count: number, over: Partial<LedgerCount> = {}): LedgerCount =>
  row({ calls: count, input: 10 * count, cached: 5 * count, output: 2 * count, ...over });

interface Given {
  readonly answered: readonly ProviderCall[];
  readonly ledger: readonly LedgerCount[];
  readonly run?: Partial<RunHistory>;
  readonly messages?: readonly Message[] | undefined;
  readonly declined?: readonly string[];
}
const historyOf = ({ answered, ledger, declined = [], run: over = {}, ...given }: Given): History => {
  const messages = 'messages' in given ? given.messages : [human(SCRIPT), ai('Hello')];
  const thread = { threadId: 't1', runs: [run(over)], messages, effects: [] };
  return { threads: [thread], remembered: [], usage: { answered, ledger, declined }, remains: [], incidents: [] };
};
const found = (given: Given): readonly string[] => usageViolations(historyOf(given)).map(({ what }) => what);

describe('usageViolations', () => {
  test('a call that a takeover repeated is in the ledger once', () => {
    const answered = [call(), call()];
    expect(found({ answered, ledger: [row()] })).toEqual([]);
    expect(found({ answered, ledger: [times(2)] })).toEqual([
      "lead_agent m: 2 calls in the ledger, where the provider's are 1 to 1",
      "lead_agent m: 20 input in the ledger, where the provider's are 10 to 10",
      "lead_agent m: 10 cached in the ledger, where the provider's are 5 to 5",
      "lead_agent m: 4 output in the ledger, where the provider's are 2 to 2",
    ]);
    expect(usageFigures(historyOf({ answered, ledger: [row()] }))).toEqual({ answered: 2, repeated: 1, entered: 1 });
  });

  test('no call of a run that succeeded is missing, and no token', () => {
    expect(found({ answered: [call()], ledger: [] })).toHaveLength(4);
    expect(found({ answered: [call()], ledger: [row({ cached: 4 })] })).toEqual([
      "lead_agent m: 4 cached in the ledger, where the provider's are 5 to 5",
    ]);
    expect(found({ answered: [call()], ledger: [row({ model: 'other' })] })).toHaveLength(8);
    expect(found({ answered: [call()], ledger: [row({ agent: 'poet' })] })).toHaveLength(8);
  });

  test('the last call of a run that was stopped may be missing, unless the transcript has its answer', () => {
    const stopped = { run: { status: 'interrupted' }, messages: [human(SCRIPT), ai('one')] };
    const answered = [call(), call({ step: 1 })];
    expect(found({ answered, ledger: [row()], ...stopped })).toEqual([]);
    expect(found({ answered, ledger: [times(2)], ...stopped })).toEqual([]);
    expect(found({ answered, ledger: [], ...stopped })).toHaveLength(4);
    const whole = { ...stopped, messages: [...stopped.messages, ai('two'), human('next'), ai('three')] };
    expect(found({ answered, ledger: [row()], ...whole })).toHaveLength(4);
  });

  test('a title may be missing that was written when the run was stopped after its first answer', () => {
    const stopped = { run: { status: 'interrupted' }, messages: [human(SCRIPT), ai('one')] };
    const title = call({ kind: 'title', key: 'title w0x0x0z', text: `Person: ${SCRIPT}`, model: 'small' });
    const answered = [call(), title];
    expect(found({ answered, ledger: [row()], ...stopped })).toEqual([]);
    expect(found({ answered, ledger: [row(), row({ model: 'small' })], ...stopped })).toEqual([]);
    expect(found({ answered, ledger: [row()] })).toHaveLength(4);
    const further = { ...stopped, messages: [...stopped.messages, ai('two')] };
    expect(found({ answered: [...answered, call({ step: 1 })], ledger: [times(2)], ...further })).toHaveLength(4);
  });

  test('of a run that was rolled back, a call that another one followed is not missing', () => {
    const gone = { run: { status: 'gone' }, messages: [] };
    expect(found({ answered: [call(), call({ step: 1 })], ledger: [row()], ...gone })).toEqual([]);
    expect(found({ answered: [call(), call({ step: 1 })], ledger: [], ...gone })).toHaveLength(4);
    expect(found({ answered: [call()], ledger: [], ...gone, messages: undefined })).toEqual([]);
  });

  test('calls of a task that was completed are those of its agent', () => {
    const task = call({ text: 'w0x0x0za\n#say Done.' });
    const done = {
      ...human('Task Succeeded'),
      type: 'tool' as const,
      tool_call_id: 'c1',
      status: 'success' as const,
      name: 'task',
    };
    const completed = { ...done, additional_kwargs: { subagent_status: 'completed' } };
    const parent = { run: { kind: 'subagents' as const, script: 'w0x0x0z\n#tool task' } };
    const transcript = (result: Message) => ({ messages: [human('w0x0x0z\n#tool task'), ai('x'), result] });
    const ledger = [row({ agent: 'general-purpose' })];
    expect(found({ answered: [task], ledger, ...parent, ...transcript(completed) })).toEqual([]);
    expect(found({ answered: [task], ledger: [], ...parent, ...transcript(completed) })).toHaveLength(4);
    const failed = { ...done, additional_kwargs: { subagent_status: 'failed' } };
    expect(found({ answered: [task], ledger: [], ...parent, ...transcript(failed) })).toEqual([]);
  });

  test('each extraction is entered, one that was repeated once or more often', () => {
    const read = call({ kind: 'memory', key: 'memory w0x0x0z' });
    for (const count of [1, 2])
      expect(found({ answered: [read, read], ledger: [times(count, { agent: 'memory' })] })).toEqual([]);
    for (const count of [0, 3])
      expect(found({ answered: [read, read], ledger: [times(count, { agent: 'memory' })] })).toHaveLength(4);
  });

  test('a call that no run made is found; one of a run that was declined may be there', () => {
    const answered = [call({ text: 'w9x9x9z' })];
    expect(found({ answered, ledger: [] })).toHaveLength(4);
    expect(found({ answered, ledger: [], declined: ['w9x9x9z'] })).toEqual([]);
    expect(found({ answered, ledger: [row()], declined: ['w9x9x9z'] })).toEqual([]);
  });
});

describe('providerCallOf', () => {
  const TOKENS = { input: 8, cached: 4, output: 2, reasoning: 0 };
  const tools = [{ type: 'function' as const, function: { name: 'bash' } }];
  const user = (content: string) => ({ role: 'user' as const, content });
  const of = (messages: Parameters<typeof providerCallOf>[0]['messages'], more = {}) =>
    providerCallOf({ model: 'm', messages, ...more }, TOKENS);

  test('tells steps, titles and extractions from each other', () => {
    const answer = { role: 'assistant' as const, content: 'x' };
    expect(of([user(SCRIPT), answer], { tools })).toMatchObject({
      kind: 'run',
      step: 1,
      text: SCRIPT,
      input: 8,
      cached: 4,
    });
    expect(of([user(`Write a title\nPerson: ${SCRIPT}`)])).toMatchObject({ kind: 'title', key: 'title w0x0x0z' });
    const memory = '<current_memory>\nw1x1x1z\n</current_memory>\n<conversation>\n[1] User: w0x0x0z\n</conversation>';
    expect(of([user(memory)])).toMatchObject({ kind: 'memory', key: 'memory w0x0x0z' });
  });

  test('the titles of two runs of one turn are two calls, as the first run may be rolled back after its title', () => {
    const titleOf = (name: string) =>
      of([user(`Write a title\nPerson: w0x0x0z${name}\n#tokens 50\nAssistant: w9x9x9z`)]);
    const answered = [titleOf('first'), titleOf('second')];
    expect(answered.map(({ key }) => key)).toEqual(['title w0x0x0zfirst', 'title w0x0x0zsecond']);
    const ledger = [times(2, { input: 16, cached: 8 })];
    expect(
      found({ answered, ledger, run: { script: 'w0x0x0zsecond\n#tokens 50' }, declined: ['w0x0x0zfirst'] }),
    ).toEqual([]);
  });

  test('a file of an earlier turn does not make a call one of that turn', () => {
    const uploads = '<uploaded_files>\n- w0x0x9z.txt (0.0 KB)\n</uploaded_files>\n\n';
    const answered = of([user(uploads + SCRIPT)], { tools });
    expect(answered).toMatchObject({ text: SCRIPT, key: `0 ${SCRIPT}` });
    expect(found({ answered: [answered], ledger: [row({ input: 8, cached: 4 })] })).toEqual([]);
  });
});
