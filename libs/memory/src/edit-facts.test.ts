import { ConflictError, emptyMemory, type MemoryDocument, type MemoryFact, NotFoundError } from '@caribou/contracts';
import { addFact, editFact, removeFact } from './edit-facts.js';

const at = '2026-11-22T10:00:00.000Z';
const fact = (id: string, content: string): MemoryFact => ({
  id,
  content,
  category: 'context',
  confidence: 0.8,
  createdAt: '2026-03-14T10:00:00Z',
  source: 'thread-1',
});
const memory = (...facts: MemoryFact[]): MemoryDocument => ({ ...emptyMemory(), facts });
const given = (content: string) => ({ content, category: 'goal', confidence: 0.9 }) as const;

describe(addFact, () => {
  test('the fact is the last one, with the source manual and the current time', () => {
    const { facts, lastUpdated } = addFact(memory(fact('f1', 'a')), given('b'), { at, maxFacts: 2 });

    expect(facts).toEqual([
      fact('f1', 'a'),
      { ...given('b'), id: expect.stringMatching(/^fact_[0-9a-f]{8}$/) as string, createdAt: at, source: 'manual' },
    ]);
    expect(lastUpdated).toBe(at);
  });

  test('a full memory and a duplicate text are refused', () => {
    const full = (): unknown => addFact(memory(fact('f1', 'a')), given('b'), { at, maxFacts: 1 });
    expect(full).toThrow(ConflictError);
    expect(full).toThrow('facts: the memory has its 1 entries, the limit');
    expect(() => addFact(memory(fact('f1', 'Ａ  Bc')), given('a bC'), { at, maxFacts: 5 })).toThrow(
      'content: f1 says the same',
    );
  });
});

describe(editFact, () => {
  test('the given fields change, and the source does not', () => {
    const { facts } = editFact(
      memory(fact('f1', 'a'), fact('f2', 'b')),
      'f2',
      { content: 'c', category: null },
      { at },
    );

    expect(facts).toEqual([fact('f1', 'a'), { ...fact('f2', 'b'), content: 'c' }]);
  });

  test('its own text may be given again, that of another fact may not', () => {
    const document = memory(fact('f1', 'a'), fact('f2', 'b'));

    expect(editFact(document, 'f2', { content: 'B', confidence: 0.1 }, { at }).facts[1]).toMatchObject({
      content: 'B',
      confidence: 0.1,
    });
    expect(() => editFact(document, 'f2', { content: 'A' }, { at })).toThrow(ConflictError);
    expect(() => editFact(document, 'f3', { content: 'c' }, { at })).toThrow(NotFoundError);
  });
});

describe(removeFact, () => {
  test('it is removed; an unknown id is an error', () => {
    expect(removeFact(memory(fact('f1', 'a'), fact('f2', 'b')), 'f1', { at }).facts).toEqual([fact('f2', 'b')]);
    expect(() => removeFact(memory(), 'f1', { at })).toThrow(NotFoundError);
  });
});
