import {
  emptyMemory,
  FactCategory,
  HISTORY_SECTIONS,
  type MemoryDocument,
  MemoryFact,
  type MemoryImport,
  MemorySection,
  type LegacyFact,
  USER_SECTIONS,
} from '@caribou/contracts';
import { limitFacts } from './apply-extraction.js';
import { comparisonKey } from './fact-text.js';
import { newFactId } from './new-fact-id.js';

export interface ImportOptions {
  /** Time of the import, ISO 8601; it is the time of facts without one and of the last change. */
  readonly at: string;
  readonly maxFacts: number;
}

/** DeerFlow's confidence of a fact without one. */
const DEFAULT_CONFIDENCE = 0.5;

/**
 * Builds a memory from a file of DeerFlow or an export, and corrects what is missing or invalid: absent summaries are
 * empty, an unknown category becomes `context`, a confidence that is not a number becomes 0 and others are clamped, a time
 * without a zone is UTC, a missing or duplicate id is replaced. Empty and duplicate facts are dropped; above `maxFacts`,
 * so are the least certain, as after an extraction.
 */
export function importMemory(given: MemoryImport, { at, maxFacts }: ImportOptions): MemoryDocument {
  const document = emptyMemory(at);
  for (const name of USER_SECTIONS) document.user[name] = sectionOf(given.user?.[name]);
  for (const name of HISTORY_SECTIONS) document.history[name] = sectionOf(given.history?.[name]);
  return { ...document, facts: factsOf(given.facts ?? [], at, maxFacts) };
}

function sectionOf(
  given: { readonly summary?: string | null | undefined; readonly updatedAt?: unknown } | null | undefined,
): MemorySection {
  const summary = given?.summary ?? '';
  return { summary, updatedAt: summary === '' ? '' : (timeOf(given?.updatedAt) ?? '') };
}

function factsOf(given: readonly LegacyFact[], at: string, maxFacts: number): MemoryFact[] {
  const byKey = new Map<string, MemoryFact>();
  const ids = new Set<string>();
  for (const old of given) {
    const fact = factOf(old, at);
    const key = comparisonKey(fact.content);
    const known = byKey.get(key);
    if (key === '' || (known !== undefined && known.confidence >= fact.confidence)) continue;
    byKey.set(key, fact);
  }
  const facts = [...byKey.values()].map((fact) => {
    const id = fact.id === '' || ids.has(fact.id) ? newFactId(ids) : fact.id;
    ids.add(id);
    return { ...fact, id };
  });
  return limitFacts(facts, maxFacts);
}

/** Fills in all fields of a fact; the id is '' when the given one is not valid. */
function factOf({ content, id, category, confidence, createdAt, source }: LegacyFact, at: string): MemoryFact {
  const { shape } = MemoryFact;
  return {
    id: shape.id.safeParse(id).data ?? '',
    content: content ?? '',
    category: FactCategory.safeParse(category).data ?? 'context',
    confidence: confidenceOf(confidence),
    createdAt: timeOf(createdAt) ?? at,
    source: shape.source.safeParse(source).data ?? 'unknown',
  };
}

function confidenceOf(given: unknown): number {
  if (given === undefined) return DEFAULT_CONFIDENCE;
  return typeof given === 'number' && !Number.isNaN(given) ? Math.min(1, Math.max(0, given)) : 0;
}

/** Returns a valid time or undefined. Python writes times in UTC without a zone. */
function timeOf(given: unknown): string | undefined {
  if (typeof given !== 'string' || given === '') return undefined;
  const time = MemorySection.shape.updatedAt;
  return time.safeParse(given).data ?? time.safeParse(`${given}Z`).data;
}
