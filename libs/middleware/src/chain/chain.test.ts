import { fakeSandbox, scriptedModel } from '@caribou/testing';
import { describeChain, leadChain, subagentChain } from './chain.js';
import type { ChainOptions } from './chain-types.js';

const ports = { sandbox: fakeSandbox(), model: scriptedModel([]) };
const namesOf = (chain: readonly { readonly name: string }[]): readonly string[] => chain.map(({ name }) => name);

/** The whole order, outermost first. A new middleware is put here on purpose, not by copying what comes out. */
const FULL = [
  'input-sanitization',
  'tool-output-budget',
  'tool-result-sanitization',
  'thread-data',
  'uploads',
  'skill-activation',
  'sandbox',
  'dangling-tool-call',
  'llm-error',
  'approval',
  'sandbox-audit',
  'read-before-write',
  'tool-error',
  'skill-tool-policy',
  'spending-approval',
  'summarization',
  'thread-context',
  'todo',
  'token-usage',
  'goal',
  'title',
  'memory',
  'view-image',
  'deferred-tool-filter',
  'subagent-limit',
  'loop-detection',
  'token-budget',
  'custom',
  'terminal-response',
  'length-finish',
  'safety-finish',
  'approval-request',
  'clarification',
];

const LEAD_ONLY = [
  ...['uploads', 'skill-activation', 'skill-tool-policy', 'todo', 'goal', 'title', 'memory', 'subagent-limit'],
  'spending-approval',
  'clarification',
];

type Switch = readonly [name: string, change: Partial<ChainOptions>, places: readonly string[]];

/** Switches of a run, with what each adds to the options when it is on, and what it brings. */
const RUN_SWITCHES: readonly Switch[] = [
  ['vision', { vision: true }, ['view-image']],
  ['context', { context: () => Promise.resolve({}) }, ['thread-context']],
  ['plan mode', { planMode: true }, ['todo']],
  ['subagents', { subagents: true }, ['subagent-limit']],
  ['tool search', { config: { tool_search: { enabled: true } } }, ['deferred-tool-filter']],
  ['custom middlewares', { custom: [{ name: 'custom' }] }, ['custom']],
  [
    'a limit of spending',
    { config: { approvals: { spending: { max_tokens: 1, max_cost: null } } } },
    ['spending-approval'],
  ],
  ['token budget', { config: { token_budget: { enabled: true } } }, ['token-budget']],
];

/** What a configuration switches off, and what goes with it. */
const CONFIG_SWITCHES: readonly Switch[] = [
  ['loop detection', { config: { loop_detection: { enabled: false } } }, ['loop-detection']],
  ['token usage', { config: { token_usage: { enabled: false } } }, ['token-usage']],
  ['input sanitizing', { config: { input_sanitization: { enabled: false } } }, ['input-sanitization']],
  ['the output budget', { config: { tool_output: { enabled: false } } }, ['tool-output-budget']],
  ['read before write', { config: { read_before_write: { enabled: false } } }, ['read-before-write']],
  ['titles', { config: { title: { enabled: false } } }, ['title']],
  ['safety finish', { config: { safety_finish_reason: { enabled: false } } }, ['safety-finish']],
  ['memory', { config: { memory: { enabled: false } } }, ['memory']],
  ['goals', { config: { goals: { enabled: false } } }, ['goal']],
];

const merged = (options: ChainOptions, [, change]: Switch): ChainOptions => ({
  ...options,
  ...change,
  config: { ...options.config, ...change.config },
});

const subsetsOf = <T>(list: readonly T[]): readonly (readonly T[])[] =>
  Array.from({ length: 2 ** list.length }, (_, bits) => list.filter((__, index) => (bits & (2 ** index)) !== 0));

/** Every combination of a run's switches, each with nothing, one thing or everything of the configuration off. */
const combinations = subsetsOf(RUN_SWITCHES).flatMap((on) =>
  [[], ...CONFIG_SWITCHES.map((one) => [one]), CONFIG_SWITCHES].map((off) => ({
    title: `with ${on.map(([name]) => name).join(', ')}; without ${off.map(([name]) => name).join(', ')}`,
    options: [...on, ...off].reduce<ChainOptions>(merged, {}),
    gone: [...RUN_SWITCHES.filter((one) => !on.includes(one)), ...off].flatMap(([, , places]) => places),
  })),
);

describe('the chain', () => {
  test('each combination of the switches leaves the order of the rest', () => {
    for (const { title, options, gone } of combinations) {
      const expected = FULL.filter((name) => !gone.includes(name));
      const described = describeChain('lead', options);

      expect({ title, names: namesOf(leadChain(ports, options)) }).toEqual({
        title,
        names: expected,
      });
      expect(namesOf(described)).toEqual(FULL);
      expect(namesOf(described.filter(({ active }) => active))).toEqual(expected);
    }
    expect(combinations).toHaveLength(256 * (CONFIG_SWITCHES.length + 2));
  });

  test("a subagent's chain is the lead's without what only a conversation with a user needs", () => {
    for (const { title, options } of combinations) {
      const lead = namesOf(leadChain(ports, options));
      const expected = lead.filter((name) => !LEAD_ONLY.includes(name));

      expect({ title, names: namesOf(subagentChain(ports, options)) }).toEqual({
        title,
        names: expected,
      });
    }
  });

  test('each position has a reason, and says why it is disabled', () => {
    const described = describeChain('lead', { vision: false, config: { title: { enabled: false } } });
    expect(described.every(({ reason }) => reason.length > 20)).toBe(true);
    expect(described.filter(({ active }) => !active).map(({ name, absent }) => `${name}: ${absent}`)).toEqual([
      'spending-approval: approvals.spending has no limit',
      'thread-context: nothing is shown besides the conversation',
      'todo: the run is not in plan mode',
      'title: title.enabled is false',
      'view-image: the model does not read images',
      'deferred-tool-filter: tool_search.enabled is false',
      'subagent-limit: the run has no subagents',
      'token-budget: token_budget.enabled is false',
      'custom: extensions.middlewares is empty',
    ]);
    const temporary = describeChain('lead', { temporary: true });
    expect(temporary.find(({ name }) => name === 'goal')?.absent).toBe('the thread exists for this run only');
    expect(describeChain('subagent', {}).find(({ name }) => name === 'title')?.absent).toBe('not for subagents');
  });

  test("the operator's middlewares keep their order", () => {
    const custom = [{ name: 'first' }, { name: 'second' }];
    const names = namesOf(leadChain(ports, { custom }));
    expect(names.slice(names.indexOf('first')).slice(0, 3)).toEqual(['first', 'second', 'terminal-response']);
  });
});
