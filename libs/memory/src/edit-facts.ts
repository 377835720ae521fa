import {
  ConflictError,
  type FactChanges,
  type MemoryDocument,
  type MemoryFact,
  NotFoundError,
  type NewFact,
} from '@caribou/contracts';
import { sameness } from './fact-text.js';
import { newFactId } from './new-fact-id.js';

export interface EditOptions {
  /** Time of the change, ISO 8601. */
  readonly at: string;
}

/**
 * The memory with a fact more, entered by hand.
 *
 * @throws {ConflictError} when its words are there already, or the memory is full
 */
export function addFact(
  document: MemoryDocument,
  given: NewFact,
  { at, maxFacts }: EditOptions & { readonly maxFacts: number },
): MemoryDocument {
  refuseTwice(document.facts, given.content);
  if (document.facts.length >= maxFacts)
    throw new ConflictError(`facts: the memory has its ${maxFacts} entries, the limit; delete one first`);
  const taken = new Set(document.facts.map(({ id }) => id));
  const fact: MemoryFact = { id: newFactId(taken), ...given, createdAt: at, source: 'manual' };
  return { ...document, lastUpdated: at, facts: [...document.facts, fact] };
}

/**
 * The memory with a fact changed; where it is from and since when stays.
 *
 * @throws {NotFoundError} when there is none of this id
 * @throws {ConflictError} when another one has these words
 */
export function editFact(
  document: MemoryDocument,
  id: string,
  { content, category, confidence }: FactChanges,
  { at }: EditOptions,
): MemoryDocument {
  const fact = factOf(document, id);
  const others = document.facts.filter((one) => one !== fact);
  if (content !== null && content !== undefined) refuseTwice(others, content);
  const changed: MemoryFact = {
    ...fact,
    content: content ?? fact.content,
    category: category ?? fact.category,
    confidence: confidence ?? fact.confidence,
  };
  return {
    ...document,
    lastUpdated: at,
    facts: document.facts.map((one) => (one === fact ? changed : one)),
  };
}

/** The memory without a fact. @throws {NotFoundError} when there is none of this id */
export function removeFact(document: MemoryDocument, id: string, { at }: EditOptions): MemoryDocument {
  const fact = factOf(document, id);
  return { ...document, lastUpdated: at, facts: document.facts.filter((one) => one !== fact) };
}

function factOf({ facts }: MemoryDocument, id: string): MemoryFact {
  const fact = facts.find((one) => one.id === id);
  if (fact === undefined) throw new NotFoundError('there is no fact of this id');
  return fact;
}

function refuseTwice(facts: readonly MemoryFact[], content: string): void {
  const there = facts.find((fact) => sameness(fact.content) === sameness(content));
  if (there !== undefined) throw new ConflictError(`content: ${there.id} says the same`);
}
