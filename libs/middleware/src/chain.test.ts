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
  'sandbox',
  'dangling-tool-call',
  'llm-error',
  'sandbox-audit',
  'read-before-write',
  'tool-error',
  'summarization',
  'todo',
  'token-usage',
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
  'clarification',
];

const LEAD_ONLY = ['uploads', 'todo', 'title', 'memory', 'subagent-limit', 'clarification'];

/** Each switch, the options that switch it off, and what goes with it. */
const SWITCHES: readonly (readonly [name: string, off: ChainOptions, gone: readonly string[]])[] = [
  ['vision', { vision: false }, ['view-image']],
  ['plan mode', { planMode: false }, ['todo']],
  ['loop detection', { loopDetection: { enabled: false } }, ['loop-detection']],
  ['token budget', { tokenBudget: { enabled: false } }, ['token-budget']],
  ['token usage', { tokenUsage: { enabled: false } }, ['token-usage']],
  ['input sanitizing', { inputSanitization: { enabled: false } }, ['input-sanitization']],
  ['the output budget', { toolOutput: { enabled: false } }, ['tool-output-budget']],
  ['read before write', { readBeforeWrite: { enabled: false } }, ['read-before-write']],
  ['titles', { title: { enabled: false } }, ['title']],
  ['safety finish', { safetyFinish: { enabled: false } }, ['safety-finish']],
  ['memory', { memory: { enabled: false } }, ['memory']],
  ['custom middlewares', { custom: [] }, ['custom']],
];
const ALL_ON: ChainOptions = {
  vision: true,
  planMode: true,
  subagents: {},
  tokenBudget: { enabled: true },
  custom: [{ name: 'custom' }],
  toolSearch: { tools: [] },
};

/** Every combination of the switches: the options, and the names that are left out. */
const combinations = Array.from({ length: 2 ** SWITCHES.length }, (_, bits) => {
  const off = SWITCHES.filter((__, index) => (bits & (2 ** index)) !== 0);
  return {
    title: off.length === 0 ? 'nothing' : off.map(([name]) => name).join(', '),
    options: off.reduce<ChainOptions>((options, [, change]) => ({ ...options, ...change }), ALL_ON),
    gone: off.flatMap(([, , gone]) => gone),
  };
});

describe('the chain', () => {
  test('each combination of the switches leaves the order of the rest', () => {
    for (const { title, options, gone } of combinations) {
      const expected = FULL.filter((name) => !gone.includes(name));
      const described = describeChain('lead', options);

      expect({ without: title, names: namesOf(leadChain(ports, options)) }).toEqual({
        without: title,
        names: expected,
      });
      expect(namesOf(described)).toEqual(FULL);
      expect(namesOf(described.filter(({ active }) => active))).toEqual(expected);
    }
    expect(combinations).toHaveLength(2 ** SWITCHES.length);
  });

  test("a subagent's chain is the lead's without what only a conversation with a person needs", () => {
    for (const { title, options } of combinations) {
      const lead = namesOf(leadChain(ports, options));
      const expected = lead.filter((name) => !LEAD_ONLY.includes(name));

      expect({ without: title, names: namesOf(subagentChain(ports, options)) }).toEqual({
        without: title,
        names: expected,
      });
    }
  });

  test('each place has a reason, and says why it is left out', () => {
    const described = describeChain('lead', { vision: false, title: { enabled: false } });
    expect(described.every(({ reason }) => reason.length > 20)).toBe(true);
    expect(described.filter(({ active }) => !active).map(({ name, absent }) => `${name}: ${absent}`)).toEqual([
      'todo: the run is not in plan mode',
      'title: title.enabled is false',
      'view-image: the model does not read images',
      'deferred-tool-filter: tool_search.enabled is false',
      'subagent-limit: the run has no subagents',
      'token-budget: token_budget.enabled is false',
      'custom: extensions.middlewares is empty',
    ]);
    expect(describeChain('subagent', {}).find(({ name }) => name === 'title')?.absent).toBe('not for subagents');
  });

  test("the operator's middlewares keep their order", () => {
    const custom = [{ name: 'first' }, { name: 'second' }];
    const names = namesOf(leadChain(ports, { custom }));
    expect(names.slice(names.indexOf('first')).slice(0, 3)).toEqual(['first', 'second', 'terminal-response']);
  });
});
