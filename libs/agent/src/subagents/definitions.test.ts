import { SubagentsConfig } from '@caribou/config';
import fc from 'fast-check';
import { mayUse, NEVER_FOR_SUBAGENTS, subagentDefinitions } from './definitions.js';

const from = (section: unknown = {}) => subagentDefinitions(SubagentsConfig.parse(section));

function kind(name: string, section: unknown = {}) {
  const definition = from(section).get(name);
  if (definition === undefined) throw new Error(`there is no ${name}`);
  return definition;
}
const poet = (over: Record<string, unknown> = {}) => ({
  custom_agents: { poet: { description: 'rhymes', system_prompt: 'You rhyme.', ...over } },
});

describe(subagentDefinitions, () => {
  test('those that ship come first, then the operator’s in his order', () => {
    const section = { custom_agents: { zoe: { ...poet().custom_agents.poet }, ...poet().custom_agents } };

    expect([...from(section).keys()]).toEqual(['general-purpose', 'bash', 'zoe', 'poet']);
  });

  test('what a kind brings with it holds without a configuration', () => {
    expect(kind('general-purpose')).toMatchObject({
      tools: null,
      model: 'inherit',
      maxTurns: 50,
      timeoutMs: 900_000,
      disallowedTools: ['task', 'ask_clarification', 'present_files'],
      tokenBudget: { enabled: true, max_tokens: 1_000_000, warn_threshold: 0.7 },
    });
    expect(kind('bash')).toMatchObject({
      tools: ['bash', 'ls', 'read_file', 'write_file', 'str_replace'],
      maxTurns: 30,
      timeoutMs: 900_000,
    });
    expect(kind('poet', poet())).toMatchObject({
      description: 'rhymes',
      systemPrompt: 'You rhyme.',
      tools: null,
      maxTurns: 50,
      timeoutMs: 900_000,
    });
  });

  test('what is said of all kinds counts before what a kind that ships brings with it', () => {
    const section = { max_turns: 7, timeout_seconds: 60, token_budget: { enabled: false, max_tokens: 9 } };

    for (const name of ['general-purpose', 'bash']) {
      expect(kind(name, section)).toMatchObject({
        maxTurns: 7,
        timeoutMs: 60_000,
        tokenBudget: { enabled: false, max_tokens: 9, warn_threshold: 0.7 },
      });
    }
  });

  test('what an own kind says of itself counts before what is said of all', () => {
    const section = { max_turns: 7, timeout_seconds: 60, ...poet({ max_turns: 3, timeout_seconds: 5, model: 'm-2' }) };

    expect(kind('poet', section)).toMatchObject({ maxTurns: 3, timeoutMs: 5_000, model: 'm-2' });
    expect(kind('poet', { timeout_seconds: 60, ...poet() })).toMatchObject({ timeoutMs: 60_000 });
  });

  test('what is said of one kind counts before all, and says nothing of the others', () => {
    const change = { model: 'm-1', max_turns: 2, timeout_seconds: 1, token_budget: { warn_threshold: 0.5 } };
    const section = {
      max_turns: 7,
      timeout_seconds: 60,
      token_budget: { max_tokens: 9 },
      ...poet({ max_turns: 3, timeout_seconds: 5, model: 'm-2' }),
      agents: { bash: change, poet: change },
    };

    for (const name of ['bash', 'poet']) {
      expect(kind(name, section)).toMatchObject({
        model: 'm-1',
        maxTurns: 2,
        timeoutMs: 1_000,
        tokenBudget: { enabled: true, max_tokens: 9, warn_threshold: 0.5 },
      });
    }
    expect(kind('general-purpose', section)).toMatchObject({ model: 'inherit', maxTurns: 7, timeoutMs: 60_000 });
  });

  test('each part of a token budget can be another for one kind', () => {
    const budgets = [{ enabled: false }, { max_tokens: 5 }, { warn_threshold: 0.1 }];

    for (const change of budgets) {
      const { tokenBudget } = kind('bash', { agents: { bash: { token_budget: change } } });
      expect(tokenBudget).toEqual({ enabled: true, max_tokens: 1_000_000, warn_threshold: 0.7, ...change });
    }
  });

  test('what the prompts must say', () => {
    expect(kind('general-purpose').systemPrompt).toMatch(
      /Nobody answers questions[^]*cannot hand work on[^]*\[citation:/,
    );
    expect(kind('bash').systemPrompt).toMatch(/one at a time[^]*careful[^]*errors word for word/);
  });
});

describe(mayUse, () => {
  const general = kind('general-purpose');
  const all = new Set(['bash', 'ls', 'grep', 'task', 'ask_clarification', 'present_files']);
  const usable = (definition: Parameters<typeof mayUse>[0], parent: ReadonlySet<string> = all) =>
    [...all].filter((name) => mayUse(definition, parent, name));

  test('a kind without a list has the tools of the agent that asks, but what no subagent has', () => {
    expect(usable(general)).toEqual(['bash', 'ls', 'grep']);
    expect(usable(general, new Set(['ls', 'task']))).toEqual(['ls']);
  });

  test('a list allows no more than the agent that asks has, and what is forbidden counts before it', () => {
    expect(usable(kind('bash'))).toEqual(['bash', 'ls']);
    expect(usable(kind('bash'), new Set(['ls', 'grep']))).toEqual(['ls']);
    expect(usable(kind('poet', poet({ tools: ['ls', 'bash'], disallowed_tools: ['bash'] })))).toEqual(['ls']);
  });

  test('whatever the operator allows or no longer forbids, no subagent has a way on or to the person', () => {
    const names = fc.subarray([...all]);
    fc.assert(
      fc.property(fc.option(names), names, names, (tools, disallowed, parent) => {
        const definition = kind('poet', poet({ tools, disallowed_tools: disallowed }));
        for (const name of NEVER_FOR_SUBAGENTS) expect(mayUse(definition, new Set(parent), name)).toBe(false);
      }),
    );
  });
});
