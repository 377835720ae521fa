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
import { capped } from './apply-extraction.js';
import { sameness } from './fact-text.js';
import { newFactId } from './new-fact-id.js';

export interface ImportOptions {
  /** Time of the import, ISO 8601: of facts without a time, and the memory's last change. */
  readonly at: string;
  readonly maxFacts: number;
}

/** DeerFlow's for a fact that does not say. */
const UNSAID_CONFIDENCE = 0.5;

/**
 * The memory that a file of DeerFlow or an export describes. What a file may lack or have wrong is put right: absent
 * summaries are empty, an unknown category is `context`, a confidence that is no number is 0 and one out of range the end
 * of it, a time without a zone is UTC, an id that is missing or there twice is a fresh one. Facts without words and
 * repetitions are left out; over `maxFacts` the least certain go, as they do when a conversation is read.
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
  const byWords = new Map<string, MemoryFact>();
  const ids = new Set<string>();
  for (const old of given) {
    const fact = factOf(old, at);
    const words = sameness(fact.content);
    const known = byWords.get(words);
    if (words === '' || (known !== undefined && known.confidence >= fact.confidence)) continue;
    byWords.set(words, fact);
  }
  const facts = [...byWords.values()].map((fact) => {
    const id = fact.id === '' || ids.has(fact.id) ? newFactId(ids) : fact.id;
    ids.add(id);
    return { ...fact, id };
  });
  return capped(facts, maxFacts);
}

/** A fact with all its fields; the id is '' when the file gives none that can be used. */
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
  if (given === undefined) return UNSAID_CONFIDENCE;
  return typeof given === 'number' && !Number.isNaN(given) ? Math.min(1, Math.max(0, given)) : 0;
}

/** A time as the contract wants it, or nothing. Python's times have no zone when they are in UTC. */
function timeOf(given: unknown): string | undefined {
  if (typeof given !== 'string' || given === '') return undefined;
  const time = MemorySection.shape.updatedAt;
  return time.safeParse(given).data ?? time.safeParse(`${given}Z`).data;
}
