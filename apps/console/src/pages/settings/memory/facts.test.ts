import type { Fact, Memory } from './api.js';
import { filterFacts, parseMemoryFile, summariesOf, threadOf } from './facts.js';

const fact = (id: string, over: Partial<Fact> = {}): Fact => ({
  id,
  content: `Fact ${id}`,
  category: 'context',
  confidence: 0.9,
  createdAt: '2026-01-01T00:00:00Z',
  source: 'manual',
  ...over,
});

describe(filterFacts, () => {
  const facts = [
    fact('a', { content: 'Prefers metric Units', category: 'preference' }),
    fact('b', { content: 'Lives in Oslo', createdAt: '2026-03-01T00:00:00+02:00' }),
    fact('c', { content: 'Units of Oslo', createdAt: '2026-02-01T00:00:00Z' }),
  ];
  const idsOf = (filter: Parameters<typeof filterFacts>[1]) => filterFacts(facts, filter).map(({ id }) => id);

  test('without a filter all are there, the newest first', () => {
    expect(idsOf({ category: '', text: '  ' })).toEqual(['b', 'c', 'a']);
  });

  test('every part of the text has to be in the fact, in any case and order', () => {
    expect(idsOf({ category: '', text: 'oslo UNITS' })).toEqual(['c']);
    expect(idsOf({ category: 'preference', text: 'units' })).toEqual(['a']);
    expect(idsOf({ category: 'goal', text: '' })).toEqual([]);
  });
});

describe(summariesOf, () => {
  test('lists those with a text, in order', () => {
    const empty = { summary: '', updatedAt: '' };
    const at = '2026-01-01T00:00:00Z';
    const memory: Memory = {
      version: '1.0',
      lastUpdated: at,
      user: { workContext: { summary: 'Builds bridges', updatedAt: at }, personalContext: empty, topOfMind: empty },
      history: {
        recentMonths: empty,
        earlierContext: { summary: 'Was in Rome', updatedAt: at },
        longTermBackground: empty,
      },
      facts: [],
    };

    expect(summariesOf(memory)).toEqual([
      { name: 'workContext', text: 'Builds bridges', updatedAt: at },
      { name: 'earlierContext', text: 'Was in Rome', updatedAt: at },
    ]);
  });
});

describe(threadOf, () => {
  test('a fact that was entered or imported has no thread', () => {
    expect(['manual', 'unknown', 't-1'].map((source) => threadOf({ source }))).toEqual([null, null, 't-1']);
  });
});

describe(parseMemoryFile, () => {
  test('gives the object of the file, and says what is wrong with others', () => {
    expect(parseMemoryFile('{"facts":[]}')).toEqual({ facts: [] });
    expect(() => parseMemoryFile('{')).toThrow('the file is not JSON');
    for (const text of ['[]', '1', 'null']) expect(() => parseMemoryFile(text)).toThrow('not the export of a memory');
    expect(() => parseMemoryFile('x'.repeat(5_000_000))).toThrow('larger than 4194304 bytes');
  });
});
