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
import { rememberedText, sameness } from './fact-text.js';
import type { Extraction, SectionName, StatedFact } from './read-answer.js';
import { mentionsUpload, withoutUploadMentions } from './upload-mentions.js';

export interface ApplyOptions {
  readonly threadId: string;
  /** ISO 8601. */
  readonly now: string;
  readonly maxFacts: number;
  /** Facts the model is less sure of are not kept. */
  readonly confidenceThreshold: number;
  /** What the model was shown, where another one is changed by now: summaries that others wrote meanwhile stay too. */
  readonly shown?: MemoryDocument;
  /** Whether a line, numbered from 1, is a person's: what only others said is no fact. */
  readonly isPersons: (line: number) => boolean;
}

/** Facts that one conversation may take out: a text that was only shown must not empty a memory. */
const MAX_REMOVED = 20;
/** A correction outlasts facts that the model is as sure of. */
const CORRECTION_WEIGHT = 0.5;

/**
 * The memory after what a model learnt. Pure, and the same when done twice: a fact's id is made of its thread and words,
 * and one that is known already only gains in confidence. A fact that is taken out and stated again in the same answer
 * stays. The result is within its bounds; the least weighty facts go first.
 */
export function applyExtraction(
  document: MemoryDocument,
  extraction: Extraction,
  options: ApplyOptions,
): MemoryDocument {
  const removed = new Set(extraction.factsToRemove.slice(0, MAX_REMOVED));
  let known: readonly MemoryFact[] = document.facts.filter(({ id }) => !removed.has(id));
  for (const fact of extraction.newFacts) known = withFact(known, fact, options);
  const facts = capped(known, options.maxFacts);
  const next = { ...withSummaries(document, extraction, options), facts };
  if (JSON.stringify(next) === JSON.stringify(document)) return document;
  return withinBytes({ ...next, lastUpdated: options.now });
}

function withFact(known: readonly MemoryFact[], stated: StatedFact, options: ApplyOptions): readonly MemoryFact[] {
  const { confidence, category, from } = stated;
  if (confidence < options.confidenceThreshold || from?.some(options.isPersons) === false) return known;
  if (mentionsUpload(stated.content)) return known;
  const content = rememberedText(stated.content, MAX_FACT_CHARS);
  if (content === '') return known;
  const same = sameness(content);
  const at = known.findIndex((fact) => sameness(fact.content) === same);
  const old = known[at];
  if (old === undefined) {
    const id = factId(same, options.threadId, new Set(known.map((fact) => fact.id)));
    return [...known, { id, content, category, confidence, createdAt: options.now, source: options.threadId }];
  }
  const merged: MemoryFact = {
    ...old,
    confidence: Math.max(old.confidence, confidence),
    category: category === 'correction' ? category : old.category,
  };
  return known.map((fact, index) => (index === at ? merged : fact));
}

/** DeerFlow's form of an id, made of what makes the fact. */
function factId(same: string, threadId: string, taken: ReadonlySet<string>): string {
  for (let salt = 0; ; salt += 1) {
    const hash = createHash('sha256').update(`${threadId}\n${same}\n${salt}`).digest('hex');
    const id = `fact_${hash.slice(0, 8)}`;
    if (!taken.has(id)) return id;
  }
}

const weightOf = ({ confidence, category }: MemoryFact): number =>
  confidence + (category === 'correction' ? CORRECTION_WEIGHT : 0);

/** The weightiest facts, of equal ones the newest, in the order in which they were learnt. */
export function capped(facts: readonly MemoryFact[], limit: number): MemoryFact[] {
  if (facts.length <= limit) return [...facts];
  const byWeight = facts.map((fact, at) => ({ fact, at }));
  byWeight.sort((one, other) => weightOf(other.fact) - weightOf(one.fact) || other.at - one.at);
  return byWeight
    .slice(0, limit)
    .sort((one, other) => one.at - other.at)
    .map(({ fact }) => fact);
}

function withinBytes(document: MemoryDocument): MemoryDocument {
  let next = document;
  while (Buffer.byteLength(JSON.stringify(next)) > MAX_MEMORY_BYTES)
    next = { ...next, facts: capped(next.facts, Math.floor(next.facts.length * 0.9)) };
  return next;
}

function withSummaries(document: MemoryDocument, { sections }: Extraction, options: ApplyOptions): MemoryDocument {
  let next = document;
  for (const [name, summary] of Object.entries(sections) as [SectionName, string][]) {
    const text = rememberedText(withoutUploadMentions(summary), MAX_SUMMARY_CHARS);
    if (text !== '')
      next = withSummary(next, name, { summary: merged(name, text, document, options), updatedAt: options.now });
  }
  return next;
}

const sectionOf = (document: MemoryDocument, name: SectionName): MemorySection =>
  isUserSection(name) ? document.user[name] : document.history[name];

/** A new summary, before the one that another conversation wrote since the model looked. The next extraction joins them. */
function merged(name: SectionName, text: string, document: MemoryDocument, { shown = document }: ApplyOptions): string {
  const { summary } = sectionOf(document, name);
  if (summary === '' || summary === sectionOf(shown, name).summary) return text;
  return summary.includes(text) ? summary : rememberedText(`${text} ${summary}`, MAX_SUMMARY_CHARS);
}

function withSummary(document: MemoryDocument, name: SectionName, section: MemorySection): MemoryDocument {
  if (sectionOf(document, name).summary === section.summary) return document;
  return isUserSection(name)
    ? { ...document, user: { ...document.user, [name]: section } }
    : { ...document, history: { ...document.history, [name]: section } };
}

const isUserSection = (name: SectionName): name is Exclude<SectionName, (typeof HISTORY_SECTIONS)[number]> =>
  USER_SECTIONS.some((one) => one === name);
