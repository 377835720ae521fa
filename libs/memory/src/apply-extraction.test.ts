import {
  emptyMemory,
  FactCategory,
  HISTORY_SECTIONS,
  MAX_MEMORY_BYTES,
  MemoryDocument,
  type MemoryFact,
  USER_SECTIONS,
} from '@caribou/contracts';
import fc from 'fast-check';
import { applyExtraction, type ApplyOptions } from './apply-extraction.js';
import { comparisonKey } from './fact-text.js';
import type { Extraction, StatedFact } from './parse-extraction.js';

const options: ApplyOptions = {
  threadId: 'thread-1',
  now: '2026-03-14T10:00:00.000Z',
  maxFacts: 100,
  confidenceThreshold: 0.7,
  isUserLine: (line) => line % 2 === 1,
};
const stated = (content: string, more: Partial<StatedFact> = {}): StatedFact => ({
  content,
  category: 'knowledge',
  confidence: 0.9,
  ...more,
});
const learnt = (more: Partial<Extraction>): Extraction => ({ sections: {}, newFacts: [], factsToRemove: [], ...more });
const known = (id: string, content: string, more: Partial<MemoryFact> = {}): MemoryFact => ({
  id,
  content,
  category: 'context',
  confidence: 0.8,
  createdAt: '2026-01-01T00:00:00.000Z',
  source: 'thread-0',
  ...more,
});
const memory = (...facts: MemoryFact[]): MemoryDocument => ({ ...emptyMemory('2026-01-01T00:00:00.000Z'), facts });
const contents = ({ facts }: MemoryDocument): string[] => facts.map(({ content }) => content);

describe(applyExtraction, () => {
  test('a fact is stored with its thread, its time and an id of its own', () => {
    const after = applyExtraction(memory(), learnt({ newFacts: [stated('Knows Rust')] }), options);
    expect(after.facts).toEqual([
      {
        id: expect.stringMatching(/^fact_[0-9a-f]{8}$/),
        content: 'Knows Rust',
        category: 'knowledge',
        confidence: 0.9,
        createdAt: options.now,
        source: 'thread-1',
      },
    ]);
    expect(after.lastUpdated).toBe(options.now);
  });

  test('an empty extraction returns the same document', () => {
    const before = memory(known('f1', 'one'));
    expect(applyExtraction(before, learnt({}), options)).toBe(before);
    expect(applyExtraction(before, learnt({ factsToRemove: ['unknown'] }), options)).toBe(before);
    expect(applyExtraction(before, learnt({ newFacts: [stated('One.', { confidence: 0.75 })] }), options)).toBe(before);
  });

  test('uncertain statements, statements of others alone and empty ones do not become facts', () => {
    const newFacts = [
      stated('unsure', { confidence: 0.69 }),
      stated('sure', { confidence: 0.7 }),
      stated('from the assistant', { from: [2, 4] }),
      stated('from both', { from: [2, 3] }),
      stated('\u200b \n'),
    ];
    expect(contents(applyExtraction(memory(), learnt({ newFacts }), options))).toEqual(['sure', 'from both']);
  });

  test('a known fact gains confidence and is otherwise unchanged; a correction makes it a correction', () => {
    const before = memory(known('f1', 'Lives in Oslo'));
    const more = learnt({ newFacts: [stated('lives in  OSLO.', { confidence: 0.95 })] });
    expect(applyExtraction(before, more, options).facts).toEqual([known('f1', 'Lives in Oslo', { confidence: 0.95 })]);
    const less = learnt({ newFacts: [stated('Lives in Oslo', { category: 'correction' })] });
    expect(applyExtraction(before, less, options).facts).toEqual([
      known('f1', 'Lives in Oslo', { confidence: 0.9, category: 'correction' }),
    ]);
  });

  test('contradicted facts are removed, at most twenty for one conversation', () => {
    const before = memory(...Array.from({ length: 30 }, (_, at) => known(`f${at}`, `fact ${at}`)));
    const all = before.facts.map(({ id }) => id);
    expect(applyExtraction(before, learnt({ factsToRemove: all }), options).facts).toHaveLength(10);
    const one = learnt({ factsToRemove: ['f3'], newFacts: [stated('not 3')] });
    const after = contents(applyExtraction(before, one, options));
    expect(after).not.toContain('fact 3');
    expect(after).toContain('not 3');
  });

  test('above the limit the least certain are removed, corrections last and the oldest first among equals', () => {
    const before = memory(
      known('f1', 'old', { confidence: 0.8 }),
      known('f2', 'corrected', { confidence: 0.7, category: 'correction' }),
      known('f3', 'certain', { confidence: 1 }),
    );
    const newFacts = [stated('new', { confidence: 0.8 }), stated('weak', { confidence: 0.71 })];
    const after = applyExtraction(before, learnt({ newFacts }), { ...options, maxFacts: 3 });
    expect(contents(after)).toEqual(['corrected', 'certain', 'new']);
  });

  test('summaries replace those of their section and get a time; one that is the same keeps its time', () => {
    const sections = { workContext: 'Builds ships.', longTermBackground: 'Studied in Lund.' };
    const after = applyExtraction(memory(), learnt({ sections }), options);
    expect(after.user.workContext).toEqual({ summary: 'Builds ships.', updatedAt: options.now });
    expect(after.history.longTermBackground.summary).toBe('Studied in Lund.');
    expect(after.user.topOfMind).toEqual({ summary: '', updatedAt: '' });
    const later = { ...options, now: '2027-01-01T00:00:00.000Z' };
    expect(applyExtraction(after, learnt({ sections }), later)).toBe(after);
  });

  test('a summary that another conversation wrote meanwhile is preserved beside the new one', () => {
    const shown = memory();
    const other = applyExtraction(shown, learnt({ sections: { topOfMind: 'Plans a trip.' } }), options);
    const mine = learnt({ sections: { topOfMind: 'Learns to sail.' } });
    const both = applyExtraction(other, mine, { ...options, shown });
    expect(both.user.topOfMind.summary).toBe('Learns to sail. Plans a trip.');
    expect(applyExtraction(both, mine, { ...options, shown })).toBe(both);
    expect(applyExtraction(other, mine, { ...options, shown: other }).user.topOfMind.summary).toBe('Learns to sail.');
  });

  test('uploads are mentioned neither in facts nor in summaries', () => {
    const newFacts = [
      stated('Uploaded a file named budget.xlsx'),
      stated('The document was attached by the user'),
      stated('Data lies in /mnt/user-data/uploads/a.csv'),
      stated('Builds a file upload form in React'),
    ];
    const sections = { topOfMind: 'Plans a trip. The user uploaded a PDF document. Wants to go by train.' };
    const after = applyExtraction(memory(), learnt({ newFacts, sections }), options);
    expect(contents(after)).toEqual(['Builds a file upload form in React']);
    expect(after.user.topOfMind.summary).toBe('Plans a trip. Wants to go by train.');
  });

  test('a summary of nothing but uploads changes nothing', () => {
    const before = memory();
    expect(applyExtraction(before, learnt({ sections: { topOfMind: 'Uploaded a file.' } }), options)).toBe(before);
  });

  test('a fact is one line of visible characters within its length', () => {
    const newFacts = [stated(`a\u202e b\n</memory>\u0000 c${'x'.repeat(1_000_000)}`), stated('👩‍💻 at work')];
    const [long, emoji] = applyExtraction(memory(), learnt({ newFacts }), options).facts;
    expect(long?.content).toHaveLength(1_000);
    expect(long?.content.startsWith('a b </memory> cxxx')).toBe(true);
    expect(emoji?.content).toBe('👩‍💻 at work');
  });

  test('a document that would be too large loses its least weighty facts', () => {
    const facts = Array.from({ length: 400 }, (_, at) => known(`f${at}`, `${at} ${'字'.repeat(900)}`));
    const after = applyExtraction(
      memory(...facts.slice(0, 80)),
      learnt({ newFacts: facts.slice(80).map(({ content }) => stated(content, { confidence: 0.95 })) }),
      { ...options, maxFacts: 500 },
    );
    expect(Buffer.byteLength(JSON.stringify(after))).toBeLessThanOrEqual(MAX_MEMORY_BYTES);
    expect(after.facts.length).toBeGreaterThan(70);
    expect(after.facts.every(({ confidence }) => confidence === 0.95)).toBe(true);
  });
});

describe('applyExtraction, whatever a model answers', () => {
  const word = fc.oneof(
    fc.constantFrom('tea', 'Tea', 'tea.', 'coffee', 'uploaded a file', 'x'.repeat(2_000), '<memory>', '  ', '字'),
    fc.string({ maxLength: 40 }),
  );
  const fact = fc.record({
    content: word,
    category: fc.constantFrom(...FactCategory.options),
    confidence: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const sectionNames = [...USER_SECTIONS, ...HISTORY_SECTIONS];
  const extraction: fc.Arbitrary<Extraction> = fc.record({
    sections: fc.dictionary(fc.constantFrom(...sectionNames), word),
    newFacts: fc.array(fact, { maxLength: 15 }),
    factsToRemove: fc.array(fc.constantFrom('f1', 'f2', 'f3', '__proto__'), { maxLength: 5 }),
  });
  const documents = fc
    .uniqueArray(fact, { selector: ({ content }) => comparisonKey(content), maxLength: 8 })
    .map((facts) =>
      memory(
        ...facts
          .filter(({ content }) => content.trim() !== '' && content.length <= 1_000)
          .map((one, at) =>
            known(`f${at}`, one.content.trim(), one.category === 'goal' ? {} : { category: one.category }),
          ),
      ),
    );
  const small = { ...options, maxFacts: 10 };

  test('the result is a valid memory within its limits', () => {
    fc.assert(
      fc.property(documents, extraction, (before, given) => {
        const after = applyExtraction(before, given, small);
        expect(MemoryDocument.parse(after)).toEqual(after);
        expect(after.facts.length).toBeLessThanOrEqual(10);
        expect(new Set(after.facts.map(({ id }) => id)).size).toBe(after.facts.length);
      }),
    );
  });

  test('doing it twice is doing it once', () => {
    fc.assert(
      fc.property(documents, extraction, (before, given) => {
        const once = applyExtraction(before, given, small);
        expect(applyExtraction(once, given, small)).toEqual(once);
      }),
      { numRuns: 500 },
    );
  });

  test('facts of two conversations are both stored in either order, within the limits', () => {
    fc.assert(
      fc.property(extraction, extraction, (one, other) => {
        const plain = (given: Extraction): Extraction => ({ ...given, factsToRemove: [] });
        const wide = { ...options, maxFacts: 500 };
        const at = (threadId: string): ApplyOptions => ({ ...wide, threadId });
        const first = applyExtraction(applyExtraction(memory(), plain(one), at('a')), plain(other), at('b'));
        const second = applyExtraction(applyExtraction(memory(), plain(other), at('b')), plain(one), at('a'));
        const said = (document: MemoryDocument): string[] =>
          document.facts.map(({ content }) => comparisonKey(content)).sort();
        expect(said(first)).toEqual(said(second));
      }),
    );
  });
});
