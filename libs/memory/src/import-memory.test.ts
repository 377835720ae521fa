import { emptyMemory, MemoryDocument, MemoryImport } from '@caribou/contracts';
import fc from 'fast-check';
import { importMemory } from './import-memory.js';

const at = '2026-11-22T10:00:00.000Z';
const imported = (file: object, maxFacts = 100): MemoryDocument =>
  importMemory(MemoryImport.parse(file), { at, maxFacts });
const faultOf = (file: unknown): string => {
  const issue = MemoryImport.safeParse(file).error?.issues[0];
  return issue === undefined ? 'none' : `${issue.path.join('.')}: ${issue.message}`;
};

describe(importMemory, () => {
  test('an export comes back as it was, but for the time of the last change', () => {
    const document: MemoryDocument = {
      ...emptyMemory('2026-03-14T10:00:00.000Z'),
      facts: [
        {
          id: 'fact_1a2b3c4d',
          content: 'Likes tea.',
          category: 'preference',
          confidence: 0.9,
          createdAt: '2026-03-14T10:00:00.000000Z',
          source: 'thread-1',
        },
      ],
    };
    document.user.workContext = { summary: 'Engineer.', updatedAt: '2026-03-14T10:00:00+01:00' };

    expect(imported(document)).toEqual({ ...document, lastUpdated: at });
  });

  test('absent sections are empty, bare text is a summary, an invalid time is never', () => {
    const { user, history } = imported({
      user: { workContext: 'Engineer.', topOfMind: { summary: ' A move. ', updatedAt: 'yesterday' }, other: 7 },
      history: null,
    });

    expect(user).toEqual({
      workContext: { summary: 'Engineer.', updatedAt: '' },
      personalContext: { summary: '', updatedAt: '' },
      topOfMind: { summary: 'A move.', updatedAt: '' },
    });
    expect(history).toEqual(emptyMemory().history);
  });

  test('a time of Python without a zone is UTC', () => {
    const { user, facts } = imported({
      user: { workContext: { summary: 'x', updatedAt: '2026-03-14T10:00:00.123456' } },
      facts: [{ content: 'a', createdAt: '2026-03-14T10:00:00' }, { content: 'b' }],
    });

    expect(user.workContext.updatedAt).toBe('2026-03-14T10:00:00.123456Z');
    expect(facts.map(({ createdAt }) => createdAt)).toEqual(['2026-03-14T10:00:00Z', at]);
  });

  test.each<[unknown, number]>([
    [undefined, 0.5],
    [null, 0],
    ['NaN', 0],
    ['0.9', 0],
    [7, 1],
    [-1, 0],
    [0.25, 0.25],
  ])('a confidence of %j is %d', (confidence, expected) => {
    expect(imported({ facts: [{ content: 'a', confidence }] }).facts[0]?.confidence).toBe(expected);
  });

  test('missing, duplicate and invalid ids are replaced, unknown categories are context', () => {
    const { facts } = imported({
      facts: [
        { id: 'one', content: 'a', category: 'goal' },
        { id: 'one', content: 'b', category: 'mood' },
        { id: 'no id:', content: 'c' },
        { id: 5, content: 'd', source: 'x'.repeat(65) },
        'e',
      ],
    });

    expect(facts[0]).toMatchObject({ id: 'one', category: 'goal', source: 'unknown' });
    expect(facts.slice(1).map(({ id }) => id)).toEqual(Array(4).fill(expect.stringMatching(/^fact_[0-9a-f]{8}$/)));
    expect(new Set(facts.map(({ id }) => id)).size).toBe(5);
    expect(facts.map(({ content, category }) => `${content} ${category}`)).toEqual([
      'a goal',
      'b context',
      'c context',
      'd context',
      'e context',
    ]);
  });

  test('empty and duplicate facts are dropped; of duplicates the more certain one is stored', () => {
    const { facts } = imported({
      facts: [
        { content: '  ' },
        { content: null },
        { content: 'Likes  Tea', confidence: 0.6 },
        { content: 'likes tea', confidence: 0.9 },
        { content: 'LIKES TEA', confidence: 0.7 },
      ],
    });

    expect(facts.map(({ content, confidence }) => [content, confidence])).toEqual([['likes tea', 0.9]]);
  });

  test('above the limit the least certain facts are dropped, and the others stay in order', () => {
    const { facts } = imported(
      { facts: [0.5, 0.9, 0.1, 0.7].map((confidence) => ({ content: `c${confidence}`, confidence })) },
      2,
    );

    expect(facts.map(({ content }) => content)).toEqual(['c0.9', 'c0.7']);
  });

  test.each<[string, unknown]>([
    ['facts.1.content: must have at most 1000 characters', { facts: ['a', { content: 'x'.repeat(1_001) }] }],
    ['user.workContext.summary: must have at most 4000 characters', { user: { workContext: 'x'.repeat(4_001) } }],
    ['facts: must have at most 2000 entries', { facts: Array(2_001).fill('a') }],
    [': must have at least one of user, history, facts', { detail: 'not found' }],
    [': Invalid input: expected object, received array', []],
    ['facts.0: Invalid input: expected object, received number', { facts: [1] }],
  ])('it is refused with %s', (fault, file) => {
    expect(faultOf(file)).toBe(fault);
  });

  test('whatever JSON is accepted, the result conforms to the contract', () => {
    const json = fc.jsonValue();
    const loose = fc.record(
      {
        user: fc.record({ workContext: json, topOfMind: json }, { requiredKeys: [] }),
        history: json,
        facts: fc.array(
          fc.oneof(json, fc.record({ content: fc.string(), id: json, confidence: json, createdAt: json })),
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(loose, (file) => {
        const parsed = MemoryImport.safeParse(file);
        if (!parsed.success) return;
        const document = importMemory(parsed.data, { at, maxFacts: 100 });
        expect(MemoryDocument.parse(document)).toEqual(document);
      }),
    );
  });
});
