import { fakeSandbox, scriptedModel } from '@caribou/testing';
import { describeChain, leadChain, subagentChain } from './chain.js';
import type { ChainOptions } from './chain-types.js';

const ports = { sandbox: fakeSandbox(), model: scriptedModel([]) };
const namesOf = (chain: readonly { readonly name: string }[]): readonly string[] => chain.map(({ name }) => name);

/** The whole order, outermost first. A new middleware is put here on purpose, not by copying what comes out. */
const FULL = [
  'thread-data',
  'uploads',
  'sandbox',
  'dangling-tool-call',
  'llm-error',
  'sandbox-audit',
  'tool-error',
  'summarization',
  'title',
  'memory',
  'view-image',
  'terminal-response',
  'length-finish',
  'safety-finish',
  'clarification',
];

/** Each switch, the options that switch it off, and what goes with it. */
const SWITCHES: readonly (readonly [name: string, off: ChainOptions, gone: readonly string[]])[] = [
  ['vision', { vision: false }, ['view-image']],
  ['titles', { title: { enabled: false } }, ['title']],
  ['safety finish', { safetyFinish: { enabled: false } }, ['safety-finish']],
  ['memory', { memory: { enabled: false } }, ['memory']],
];
const ALL_ON: ChainOptions = { vision: true };

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
  test.each(combinations)('without $title: the order of the rest', ({ options, gone }) => {
    const expected = FULL.filter((name) => !gone.includes(name));

    expect(namesOf(leadChain(ports, options))).toEqual(expected);
    expect(namesOf(describeChain('lead', options))).toEqual(FULL);
    expect(namesOf(describeChain('lead', options).filter(({ active }) => active))).toEqual(expected);
  });

  test.each(combinations)("without $title: a subagent's chain is the lead's without some", ({ options }) => {
    const lead = namesOf(leadChain(ports, options));
    const subagent = namesOf(subagentChain(ports, options));

    expect(subagent).toEqual(lead.filter((name) => subagent.includes(name)));
    expect(subagent).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(uploads|title|memory|todo|subagent-limit|clarification)$/)]),
    );
  });

  test('each place has a reason, and says why it is left out', () => {
    const described = describeChain('lead', { vision: false, title: { enabled: false } });
    expect(described.every(({ reason }) => reason.length > 20)).toBe(true);
    expect(described.filter(({ active }) => !active).map(({ name, absent }) => `${name}: ${absent}`)).toEqual([
      'title: title.enabled is false',
      'view-image: the model does not read images',
    ]);
    expect(describeChain('subagent', {}).find(({ name }) => name === 'title')?.absent).toBe('not for subagents');
  });
});
