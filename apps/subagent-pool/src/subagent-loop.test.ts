import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, loadConfig } from '@caribou/config';
import { InvalidRequestError, type RunRecord, type TaskSpec, textOf } from '@caribou/contracts';
import type { LoopOutcome, ModelCatalog, ModelGate, ModelPort, Skill } from '@caribou/core';
import {
  type FakeSandbox,
  fakeHost,
  fakeRun,
  fakeSandbox,
  sampleTask,
  type ScriptedAnswer,
  scriptedModel,
  taskRecord,
} from '@caribou/testing';
import { subagentLoop } from './subagent-loop.js';

const folder = mkdtempSync(join(tmpdir(), 'caribou-pool-'));
afterAll(() => rmSync(folder, { recursive: true }));

function configOf(yaml = ''): Config {
  writeFileSync(join(folder, 'config.yaml'), yaml);
  return loadConfig({ OPENAI_API_KEY: 'k', OPENAI_MODEL: 'm' }, folder);
}

const gate: ModelGate = {
  acquire: () => Promise.resolve({ kind: 'admitted', permit: { probe: false, release: () => Promise.resolve() } }),
};
const PARENT_TOOLS = ['ls', 'grep', 'read_file', 'bash', 'present_files', 'ask_clarification', 'task', 'view_image'];

interface Given {
  readonly yaml?: string;
  readonly spec?: Partial<TaskSpec>;
  readonly script?: readonly ScriptedAnswer[];
  readonly record?: Partial<RunRecord>;
  readonly maxTurns?: number;
  readonly vision?: boolean;
  readonly sandbox?: FakeSandbox;
}

/** A task as a pool works on it, from its prompt to its end. */
function worked({
  yaml,
  spec,
  script = [{ content: 'Done.' }],
  record,
  maxTurns = 10,
  vision = false,
  sandbox = fakeSandbox(),
}: Given) {
  const scripted = scriptedModel(script);
  const model: ModelPort = { ...scripted, supportsVision: vision };
  const asked: (string | undefined)[] = [];
  const models: ModelCatalog = {
    names: ['m'],
    get: (name) => {
      asked.push(name);
      if (name === 'm') return model;
      throw new InvalidRequestError(`unknown model "${name ?? ''}"`);
    },
  };
  const task = sampleTask({ maxTurns, spec: { subagent_type: 'general-purpose', tools: PARENT_TOOLS, ...spec } });
  const run = taskRecord(task, { status: 'running', ...record });
  const state = { messages: [task.prompt] };
  const host = fakeHost({ state });
  const context = fakeRun({ runId: run.run_id });
  const loop = subagentLoop(
    { models, gate, sandbox, skills: { skillsOf: () => Promise.resolve(SKILLS) }, sources: [], custom: [] },
    configOf(yaml),
  );
  const start = (): Promise<LoopOutcome> =>
    loop({
      host,
      run: context,
      position: 'start',
      turnsTaken: run.llm_call_count,
      early: { userId: run.user_id, threadId: run.thread_id, context: {}, isResumed: false },
      head: { checkpointId: null, metadata: null, next: [], state, log: undefined },
      claimed: {
        kind: 'run',
        lease: { userId: run.user_id, threadId: run.thread_id, runId: run.run_id, ownerId: 'o', epoch: 1 },
        run,
        exhausted: false,
        ranMs: 0,
        head: { checkpointId: null, metadata: null, next: [], state, log: undefined },
      },
    });
  return { start, model: scripted, context, host, asked, sandbox };
}

const SKILLS: readonly Skill[] = ['bootstrap', 'chart', 'write'].map((name) => ({
  name,
  description: 'does it',
  license: null,
  category: 'public',
  location: `/mnt/skills/public/${name}/SKILL.md`,
  allowedTools: null,
  enabled: true,
  editable: false,
}));

async function ended(given: Given) {
  const work = worked(given);
  const outcome = await work.start();
  if (outcome.kind === 'yielded') throw new Error('it yielded');
  const [first] = work.model.calls;
  const messages = outcome.last.state.messages;
  const shown = textOf(first?.messages[0]?.content ?? '');
  return {
    ...work,
    outcome,
    messages,
    shown,
    tools: first?.tools.map(({ name }) => name),
    system: first?.system ?? '',
  };
}

describe('what a subagent is given', () => {
  test('the tools of the agent that asked, without those that no subagent has', async () => {
    const { tools, outcome, messages } = await ended({});

    expect(tools).toEqual(['ls', 'grep', 'read_file', 'bash']);
    expect(outcome).toMatchObject({ kind: 'finished' });
    expect(messages.map(({ content }) => content)).toEqual(['Do it.', 'Done.']);
  });

  test('the skills of the agent that asked, and never the one that makes agents', async () => {
    const told = async (given: Given): Promise<readonly (string | undefined)[]> =>
      [...(await ended(given)).shown.matchAll(/^- (\w+): does it/gm)].map(([, name]) => name);

    expect(await told({})).toEqual(['chart', 'write']);
    expect(await told({ spec: { skills: ['write', 'gone'] } })).toEqual(['write']);
    expect(await told({ spec: { skills: [] } })).toEqual([]);
  });

  test('of those the ones its kind may use', async () => {
    const yaml =
      'subagents: {custom_agents: {poet: {description: d, system_prompt: You rhyme., tools: [ls, write_file]}}}';

    expect((await ended({ spec: { subagent_type: 'bash' } })).tools).toEqual(['ls', 'read_file', 'bash']);
    expect((await ended({ yaml, spec: { subagent_type: 'poet' } })).tools).toEqual(['ls']);
  });

  test('images to look at, where its model reads them and the agent that asked may', async () => {
    expect((await ended({ vision: true })).tools).toContain('view_image');
    expect((await ended({ vision: true, spec: { tools: ['ls'] } })).tools).toEqual(['ls']);
  });

  test('the prompt of its kind, ours or the operator’s', async () => {
    const yaml = 'subagents: {custom_agents: {poet: {description: d, system_prompt: You rhyme.}}}';

    expect((await ended({ yaml, spec: { subagent_type: 'poet' } })).system).toMatch(/^<role>\nYou rhyme\.\n<\/role>/);
    expect((await ended({})).system).toMatch(/^<role>\nYou are a subagent\./);
  });

  test('the model that was chosen for the task', async () => {
    expect((await ended({})).asked).toContain('m');
    await expect(worked({ spec: { model: 'gone' } }).start()).rejects.toThrow('unknown model "gone"');
  });
});

describe('a subagent at work', () => {
  test('cannot hand work on: a call of `task` is refused, and the run goes on', async () => {
    const script = [
      { calls: [{ name: 'task', args: { description: 'd', prompt: 'p', subagent_type: 'general-purpose' } }] },
      { content: 'Alone, then.' },
    ];
    const { messages, outcome } = await ended({ script });

    expect(outcome.kind).toBe('finished');
    expect(messages[2]).toMatchObject({
      type: 'tool',
      name: 'task',
      status: 'error',
      content: "Task failed. Error: Tool 'task' does not exist. Available tools: ls, grep, read_file, bash.",
    });
    expect(messages.at(-1)).toMatchObject({ content: 'Alone, then.' });
  });

  test('works in the sandbox it was given, under keys of its own run', async () => {
    const script = [{ calls: [{ name: 'bash', args: { description: 'd', command: 'echo hi' } }] }, { content: 'hi' }];
    const { sandbox, messages } = await ended({ script });

    expect(sandbox.executed).toEqual(['echo hi']);
    expect(messages[2]).toMatchObject({ type: 'tool', content: 'hi\n' });
  });

  test('is told of in whole answers: no piece of one leaves it', async () => {
    const { context } = await ended({ script: [{ content: ['Do', 'ne.'] }] });

    expect(context.events.map(({ kind }) => kind)).toContain('task.start');
    expect(context.events.filter(({ kind }) => kind === 'message.delta')).toEqual([]);
  });

  test('has the turns of its task, those before a takeover counted', async () => {
    const again = { calls: [{ name: 'ls', args: { description: 'd', path: '/mnt/user-data' } }] };

    const capped = await ended({ script: [again, again, again], maxTurns: 2 });
    expect(capped.outcome).toMatchObject({ kind: 'failed', stopReason: 'recursion_limit' });
    expect(capped.model.calls).toHaveLength(2);

    const later = await ended({ script: [again, again, again], maxTurns: 2, record: { llm_call_count: 1 } });
    expect(later.model.calls).toHaveLength(1);
  });

  test.each([
    ['bash', 'token_capped'],
    ['general-purpose', undefined],
  ])('has the token budget of its kind (%s)', async (type, stopReason) => {
    const usage = { input_tokens: 80, output_tokens: 40, total_tokens: 120 };
    const calls = [{ name: 'ls', args: { description: 'd', path: '/mnt/user-data' } }];
    const { outcome } = await ended({
      yaml: 'subagents: {agents: {bash: {token_budget: {max_tokens: 100}}}}',
      spec: { subagent_type: type },
      script: [{ content: 'Half.', calls, usage }, { content: 'Done.' }],
    });

    expect(outcome.kind).toBe('finished');
    expect(outcome.stopReason).toBe(stopReason);
  });
});

test.each([
  ['a kind that is not configured any more', { spec: { subagent_type: 'poet' } }],
  ['a spec of another version', { record: { metadata: {} } }],
])('%s ends the task in words', async (_, given) => {
  await expect(worked(given).start()).rejects.toThrow(InvalidRequestError);
});
