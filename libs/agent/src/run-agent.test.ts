import { type AiMessage, type Message, type RunEvent, textOf, type ThreadState } from '@caribou/contracts';
import { type AgentMiddleware, type LoopOutcome, RunCancelled, RunLost } from '@caribou/core';
import { leadChain } from '@caribou/middleware';
import {
  type FakeHost,
  fakeHost,
  type FakeRun,
  fakeRun,
  type FakeSandbox,
  fakeSandbox,
  humanMessage,
  modelFailure,
  type ScriptedModel,
  scriptedModel,
  transcriptFaults,
} from '@caribou/testing';
import { leadTools } from '@caribou/tools';
import type { AgentRun } from './agent-run.js';
import { runAgent } from './run-agent.js';

interface Stage {
  readonly agent: AgentRun;
  readonly run: FakeRun;
  readonly host: FakeHost;
  readonly sandbox: FakeSandbox;
}

/** Everything a run needs, with the lead agent's chain and tools over fakes. */
function stage(
  model: ScriptedModel,
  overrides: Partial<AgentRun> & { readonly extra?: readonly AgentMiddleware[] } = {},
): Stage {
  const { extra = [], ...rest } = overrides;
  const sandbox = fakeSandbox();
  const run = fakeRun();
  const state = rest.state ?? { messages: [humanMessage('hi', 'h1')] };
  const host = fakeHost({ state });
  const agent: AgentRun = {
    chain: [...leadChain({ sandbox, model }), ...extra],
    tools: leadTools({ sandbox }),
    model,
    systemPrompt: 'be good',
    options: { maxTurns: 10 },
    host,
    run,
    state,
    step: 0,
    position: 'start',
    ...rest,
  };
  return { agent, run, host, sandbox };
}

const lastState = (outcome: LoopOutcome): ThreadState =>
  outcome.kind === 'yielded' ? { messages: [] } : outcome.last.state;
/** A transcript in short: type, and text. */
const brief = (messages: readonly Message[]): readonly string[] =>
  messages.map((message) => `${message.type}: ${textOf(message.content)}`);
const kinds = (events: readonly RunEvent[]): readonly string[] =>
  events.map((event) => ('node' in event ? `${event.kind} ${event.node}` : event.kind));
const echo = (word: string) => ({ name: 'bash', args: { description: 'say', command: `echo ${word}` } });

describe(runAgent, () => {
  test('a plain answer: told while it streams, handed back uncommitted with the title', async () => {
    const usage = { input_tokens: 4, output_tokens: 2, total_tokens: 6 };
    const { agent, run, host } = stage(scriptedModel([{ reasoning: ['hm'], content: ['Hel', 'lo'], usage }]));

    const outcome = await runAgent(agent);

    expect(host.commits).toEqual([]);
    expect(outcome).toMatchObject({
      kind: 'finished',
      last: {
        next: [],
        step: 1,
        usage: { turns: 1, calls: [{ inputTokens: 4, outputTokens: 2 }] },
        state: { title: 'hi' },
      },
    });
    expect(brief(lastState(outcome).messages)).toEqual(['human: hi', 'ai: Hello']);
    expect(kinds(run.events)).toEqual([
      'task.start model_request',
      'model.start model_request',
      ...Array.from({ length: 4 }, () => 'message.delta model_request'),
    ]);
    expect(outcome.kind === 'finished' && kinds(outcome.last.events)).toEqual([
      'task.start thread-data.before_agent',
      'task.end thread-data.before_agent',
      'message model_request',
      'task.end model_request',
      'task.start title.after_model',
      'task.end title.after_model',
    ]);
  });

  test('the message that asks for tools is committed before any tool starts', async () => {
    const { agent, host, run } = stage(scriptedModel([{ calls: [echo('one')] }, { content: 'done' }]));
    const seen: (readonly string[])[] = [];
    const commit: FakeHost['commit'] = (turn) => {
      seen.push([...run.events.map((event) => event.kind), ...turn.next]);
      return host.commit(turn);
    };

    await runAgent({ ...agent, host: { commit } });

    expect(seen[0]).not.toContain('tool.start');
    expect(seen[0]?.at(-1)).toBe('tools');
    expect(seen[1]).toContain('tool.end');
    expect(host.commits.map(({ step, next }) => [step, next])).toEqual([
      [1, ['tools']],
      [2, ['model_request']],
    ]);
  });

  test('parallel calls, an unknown tool and broken arguments are answered in one legal transcript', async () => {
    const calls = [echo('one'), { name: 'teleport' }, echo('two'), { name: 'bash', args: '{"comm' }];
    const model = scriptedModel([{ content: 'Looking', calls }, { content: 'done' }]);
    const { agent, host, sandbox } = stage(model);

    const outcome = await runAgent(agent);

    expect(brief(lastState(outcome).messages)).toEqual([
      'human: hi',
      'ai: Looking',
      'tool: one\n',
      expect.stringMatching(/^tool: Error: Tool 'teleport' does not exist\. Available tools: ls, /) as string,
      'tool: two\n',
      expect.stringMatching(/^tool: Error: Tool 'bash' was not called\. The arguments are not valid JSON/) as string,
      'ai: done',
    ]);
    expect(sandbox.executed).toEqual(['echo one', 'echo two']);
    expect(transcriptFaults(model.calls[1]?.messages ?? [])).toEqual([]);
    expect(kinds(host.commits[1]?.events ?? [])).toEqual([
      ...Array.from({ length: 4 }, () => 'message tools'),
      ...Array.from({ length: 4 }, () => 'task.end tools'),
    ]);
    expect(lastState(outcome).sandbox).toEqual({ sandbox_id: 'box-1', driver: 'bwrap' });
  });

  test('a clarification ends the run successfully, its siblings still run', async () => {
    const ask = { name: 'ask_clarification', args: { question: 'Where to?', clarification_type: 'missing_info' } };
    const { agent, sandbox } = stage(scriptedModel([{ calls: [ask, echo('one')] }]));

    const outcome = await runAgent(agent);

    expect(outcome).toMatchObject({ kind: 'finished', last: { next: [], step: 2 } });
    expect(brief(lastState(outcome).messages)).toEqual(['human: hi', 'ai: ', 'tool: ❓ Where to?', 'tool: one\n']);
    expect(sandbox.executed).toEqual(['echo one']);
    expect(sandbox.released).toHaveLength(1);
  });

  test('a model that fails for good leaves a visible message and fails the run', async () => {
    const { agent, run } = stage(
      scriptedModel([{ error: modelFailure({ reason: 'bad_request', providerStatus: 400 }) }]),
    );

    const outcome = await runAgent(agent);

    const message = lastState(outcome).messages.at(-1) as AiMessage;
    expect(outcome).toMatchObject({ kind: 'failed', error: { name: 'ModelError', message: message.content } });
    expect(message.additional_kwargs).toMatchObject({ deerflow_error_fallback: true, error_reason: 'request' });
    expect(run.events.at(-1)).toMatchObject({
      kind: 'message.delta',
      message_id: message.id,
      content: message.content,
    });
  });

  test('the turn after the limit is refused: a visible message, GraphRecursionError, and what was done stays', async () => {
    const { agent, host } = stage(scriptedModel(Array.from({ length: 5 }, () => ({ calls: [echo('x')] }))), {
      options: { maxTurns: 3 },
      turnsTaken: 1,
    });

    const outcome = await runAgent(agent);

    expect(host.commits).toHaveLength(4);
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { name: 'GraphRecursionError' },
      stopReason: 'recursion_limit',
    });
    expect(lastState(outcome).messages.at(-1)).toMatchObject({ type: 'ai', tool_calls: [] });
  });

  test('asked to stop at a commit, the loop yields and leaves afterAgent to the runner that goes on', async () => {
    const { agent, sandbox } = stage(scriptedModel([{ calls: [echo('one')] }]));
    const host = fakeHost({ state: agent.state, yieldAt: 2 });

    await expect(runAgent({ ...agent, host })).resolves.toEqual({ kind: 'yielded' });
    expect(host.head.next).toEqual(['model_request']);
    expect(sandbox.released).toEqual([]);
  });

  test.each([
    [{ interruptBefore: ['tools'] }, ['tools'], 1],
    [{ interruptAfter: ['model_request'] }, ['tools'], 1],
    [{ interruptAfter: ['tools'] }, ['model_request'], 2],
    [{ interruptBefore: '*' as const }, ['model_request'], 1],
  ])('the breakpoint %j leaves the next node open', async (breakpoints, next, step) => {
    const { agent } = stage(scriptedModel([{ calls: [echo('one')] }]), { options: { maxTurns: 9, ...breakpoints } });

    expect(await runAgent(agent)).toMatchObject({ kind: 'finished', last: { next, step } });
  });

  test('a hook that ends the run before the model leaves the model uncalled', async () => {
    const model = scriptedModel([]);
    const gate: AgentMiddleware = {
      name: 'gate',
      beforeModel: () => Promise.resolve({ end: true, update: { title: 'no' } }),
    };
    const { agent } = stage(model, { extra: [gate] });

    expect(await runAgent(agent)).toMatchObject({ kind: 'finished', last: { next: [], state: { title: 'no' } } });
    expect(model.calls).toEqual([]);
  });

  test('from the end only afterAgent runs', async () => {
    const model = scriptedModel([]);
    const { agent } = stage(model, { position: 'end' });

    expect(await runAgent(agent)).toMatchObject({ kind: 'finished', last: { next: [], events: [] } });
    expect(model.calls).toEqual([]);
  });
});

describe('a run that is aborted', () => {
  test('in the model call: the reason is thrown, nothing is told after it, and the sandbox is released', async () => {
    const { agent, run, sandbox, host } = stage(
      scriptedModel([
        { calls: [echo('one')] },
        { content: ['a', 'b'], holdBefore: { delta: 1, until: new Promise(() => undefined) } },
      ]),
    );
    const reason = new RunCancelled('interrupt');
    const ended = runAgent(agent);
    await until(() => run.events.some((event) => event.kind === 'message.delta' && event.content === 'a'));
    run.abort(reason);
    const told = run.events.length;

    await expect(ended).rejects.toBe(reason);
    expect(run.events).toHaveLength(told);
    expect(host.commits).toHaveLength(2);
    expect(sandbox.released).toHaveLength(1);
  });

  test('in a tool that does not listen: the reason is thrown at once', async () => {
    const { agent, run } = stage(scriptedModel([{ calls: [echo('one'), echo('two')] }]));
    const deaf = agent.tools.map((tool) => ({ ...tool, invoke: () => new Promise<never>(() => undefined) }));
    const reason = new RunCancelled('rollback');
    const ended = runAgent({ ...agent, tools: deaf });
    await until(() => run.events.filter((event) => event.kind === 'tool.start').length === 2);
    run.abort(reason);

    await expect(ended).rejects.toBe(reason);
    expect(run.events.at(-1)?.kind).toBe('tool.start');
  });

  test('a lost run runs no afterAgent hook: another runner goes on with it', async () => {
    const { agent, sandbox } = stage(scriptedModel([{ calls: [echo('one')] }]));
    const host = fakeHost({ state: agent.state, dieAt: { commit: 2, written: false } });

    await expect(runAgent({ ...agent, host })).rejects.toBeInstanceOf(RunLost);
    expect(sandbox.released).toEqual([]);
  });

  test('a failing hook fails the run, and a second failure on the way out does not hide it', async () => {
    const broken: AgentMiddleware = {
      name: 'broken',
      afterModel: () => Promise.reject(new Error('first')),
      afterAgent: () => Promise.reject(new Error('second')),
    };

    await expect(runAgent(stage(scriptedModel([]), { extra: [broken] }).agent)).rejects.toThrow('first');
  });
});

async function until(condition: () => boolean): Promise<void> {
  for (let round = 0; round < 10_000 && !condition(); round += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(condition()).toBe(true);
}
