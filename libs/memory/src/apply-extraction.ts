import { createHash } from 'node:crypto';
import {
  type HISTORY_SECTIONS,
  MAX_FACT_CHARS,
  MAX_MEMORY_BYTES,
  MAX_SUMMARY_CHARS,
  type MemoryDocument,
  type MemoryFact,
  type MemorySection,
  USER_SECTIONS,
} from '@caribou/contracts';
import { toMemoryText, comparisonKey } from './fact-text.js';
import type { Extraction, SectionName, StatedFact } from './parse-extraction.js';
import { mentionsUpload, stripUploadMentions } from './upload-mentions.js';

export interface ApplyOptions {
  readonly threadId: string;
  /** ISO 8601. */
  readonly now: string;
  readonly maxFacts: number;
  /** Facts with less confidence are not stored. */
  readonly confidenceThreshold: number;
  /** The memory in the prompt, when `document` is newer: summaries that others wrote meanwhile are preserved. */
  readonly shown?: MemoryDocument;
  /** Whether a line, numbered from 1, is the user's; statements of others alone do not become facts. */
  readonly isUserLine: (line: number) => boolean;
}

/** Facts that one conversation may remove, so that a quoted text cannot empty a memory. */
const MAX_REMOVED = 20;
/** Corrections outrank facts of the same confidence. */
const CORRECTION_WEIGHT = 0.5;

/**
 * Applies an extraction to a memory. Pure and idempotent: a fact's id is derived from its thread and text, and a known
 * fact only gains confidence. A fact that the same extraction removes and states is retained. The result is within its
 * limits; facts of the least weight are dropped first.
 */
export function applyExtraction(
  document: MemoryDocument,
  extraction: Extraction,
  options: ApplyOptions,
): MemoryDocument {
  const removed = new Set(extraction.factsToRemove.slice(0, MAX_REMOVED));
  let known: readonly MemoryFact[] = document.facts.filter(({ id }) => !removed.has(id));
  for (const fact of extraction.newFacts) known = withFact(known, fact, options);
  const facts = limitFacts(known, options.maxFacts);
  const next = { ...withSummaries(document, extraction, options), facts };
  if (JSON.stringify(next) === JSON.stringify(document)) return document;
  return limitBytes({ ...next, lastUpdated: options.now });
}

function withFact(known: readonly MemoryFact[], stated: StatedFact, options: ApplyOptions): readonly MemoryFact[] {
  const { confidence, category, from } = stated;
  if (confidence < options.confidenceThreshold || from?.some(options.isUserLine) === false) return known;
  if (mentionsUpload(stated.content)) return known;
  const content = toMemoryText(stated.content, MAX_FACT_CHARS);
  if (content === '') return known;
  const same = comparisonKey(content);
  const at = known.findIndex((fact) => comparisonKey(fact.content) === same);
  const old = known[at];
  if (old === undefined) {
    const id = factId(same, options.threadId, new Set(known.map((fact) => fact.id)));
    return [...known, { id, content, category, confidence, createdAt: options.now, source: options.threadId }];
  }
  const updated: MemoryFact = {
    ...old,
    confidence: Math.max(old.confidence, confidence),
    category: category === 'correction' ? category : old.category,
  };
  return known.map((fact, index) => (index === at ? updated : fact));
}

/** Derives an id in DeerFlow's format from the thread and the text. */
function factId(same: string, threadId: string, taken: ReadonlySet<string>): string {
  for (let salt = 0; ; salt += 1) {
    const hash = createHash('sha256').update(`${threadId}\n${same}\n${salt}`).digest('hex');
    const id = `fact_${hash.slice(0, 8)}`;
    if (!taken.has(id)) return id;
  }
}

const weightOf = ({ confidence, category }: MemoryFact): number =>
  confidence + (category === 'correction' ? CORRECTION_WEIGHT : 0);

/** Returns the facts of the greatest weight (the newest among equals) in their original order. */
export function limitFacts(facts: readonly MemoryFact[], limit: number): MemoryFact[] {
  if (facts.length <= limit) return [...facts];
  const byWeight = facts.map((fact, at) => ({ fact, at }));
  byWeight.sort((one, other) => weightOf(other.fact) - weightOf(one.fact) || other.at - one.at);
  return byWeight
    .slice(0, limit)
    .sort((one, other) => one.at - other.at)
    .map(({ fact }) => fact);
}

function limitBytes(document: MemoryDocument): MemoryDocument {
  let next = document;
  while (Buffer.byteLength(JSON.stringify(next)) > MAX_MEMORY_BYTES)
    next = { ...next, facts: limitFacts(next.facts, Math.floor(next.facts.length * 0.9)) };
  return next;
}

function withSummaries(document: MemoryDocument, { sections }: Extraction, options: ApplyOptions): MemoryDocument {
  let next = document;
  for (const [name, summary] of Object.entries(sections) as [SectionName, string][]) {
    const text = toMemoryText(stripUploadMentions(summary), MAX_SUMMARY_CHARS);
    if (text !== '')
      next = withSummary(next, name, { summary: mergeSummary(name, text, document, options), updatedAt: options.now });
  }
  return next;
}

const sectionOf = (document: MemoryDocument, name: SectionName): MemorySection =>
  isUserSection(name) ? document.user[name] : document.history[name];

/** Puts a new summary before one that another conversation wrote meanwhile; the next extraction joins them. */
function mergeSummary(
  name: SectionName,
  text: string,
  document: MemoryDocument,
  { shown = document }: ApplyOptions,
): string {
  const { summary } = sectionOf(document, name);
  if (summary === '' || summary === sectionOf(shown, name).summary) return text;
  return summary.includes(text) ? summary : toMemoryText(`${text} ${summary}`, MAX_SUMMARY_CHARS);
}

function withSummary(document: MemoryDocument, name: SectionName, section: MemorySection): MemoryDocument {
  if (sectionOf(document, name).summary === section.summary) return document;
  return isUserSection(name)
    ? { ...document, user: { ...document.user, [name]: section } }
    : { ...document, history: { ...document.history, [name]: section } };
}

const isUserSection = (name: SectionName): name is Exclude<SectionName, (typeof HISTORY_SECTIONS)[number]> =>
  USER_SECTIONS.some((one) => one === name);
