import {
  ConflictError,
  type FactChanges,
  type MemoryDocument,
  type MemoryFact,
  NotFoundError,
  type NewFact,
} from '@caribou/contracts';
import { comparisonKey } from './fact-text.js';
import { newFactId } from './new-fact-id.js';

export interface EditOptions {
  /** Time of the change, ISO 8601. */
  readonly at: string;
}

/**
 * Adds a fact that was entered by hand.
 *
 * @throws {ConflictError} when a fact has the same text, or the memory is full
 */
export function addFact(
  document: MemoryDocument,
  given: NewFact,
  { at, maxFacts }: EditOptions & { readonly maxFacts: number },
): MemoryDocument {
  assertNotDuplicate(document.facts, given.content);
  if (document.facts.length >= maxFacts)
    throw new ConflictError(`facts: the memory has its ${maxFacts} entries, the limit; delete one first`);
  const taken = new Set(document.facts.map(({ id }) => id));
  const fact: MemoryFact = { id: newFactId(taken), ...given, createdAt: at, source: 'manual' };
  return { ...document, lastUpdated: at, facts: [...document.facts, fact] };
}

/**
 * Changes a fact; its source and time of creation do not change.
 *
 * @throws {NotFoundError} when no fact has this id
 * @throws {ConflictError} when another fact has the same text
 */
export function editFact(
  document: MemoryDocument,
  id: string,
  { content, category, confidence }: FactChanges,
  { at }: EditOptions,
): MemoryDocument {
  const fact = factOf(document, id);
  const others = document.facts.filter((one) => one !== fact);
  if (content !== null && content !== undefined) assertNotDuplicate(others, content);
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

/** Removes a fact. @throws {NotFoundError} when no fact has this id */
export function removeFact(document: MemoryDocument, id: string, { at }: EditOptions): MemoryDocument {
  const fact = factOf(document, id);
  return { ...document, lastUpdated: at, facts: document.facts.filter((one) => one !== fact) };
}

function factOf({ facts }: MemoryDocument, id: string): MemoryFact {
  const fact = facts.find((one) => one.id === id);
  if (fact === undefined) throw new NotFoundError('there is no fact of this id');
  return fact;
}

function assertNotDuplicate(facts: readonly MemoryFact[], content: string): void {
  const duplicate = facts.find((fact) => comparisonKey(fact.content) === comparisonKey(content));
  if (duplicate !== undefined) throw new ConflictError(`content: ${duplicate.id} says the same`);
}
