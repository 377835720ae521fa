import { FactCategory, HISTORY_SECTIONS, isRecord, ModelError, USER_SECTIONS } from '@caribou/contracts';
import { stripReasoning } from '@caribou/core';
import { jsonrepair, JSONRepairError } from 'jsonrepair';
import { z } from 'zod';

/** A fact from the answer of a model. */
export interface StatedFact {
  readonly content: string;
  readonly category: FactCategory;
  readonly confidence: number;
  /** Numbers of the lines that state it; absent when the model named none. */
  readonly from?: readonly number[];
}

export type SectionName = (typeof USER_SECTIONS)[number] | (typeof HISTORY_SECTIONS)[number];

/** The changes of a memory that a model proposes. */
export interface Extraction {
  /** New summaries of the changed sections. */
  readonly sections: Readonly<Partial<Record<SectionName, string>>>;
  readonly newFacts: readonly StatedFact[];
  readonly factsToRemove: readonly string[];
}

const MAX_STATED_FACTS = 100;
const MAX_REMOVALS = 500;
/** DeerFlow's defaults. */
const DEFAULT_CONFIDENCE = 0.5;
const DEFAULT_CATEGORY = 'context';

/**
 * Parses the answer of a model: JSON, also within reasoning, a code fence or prose, and JSON with the usual mistakes of
 * models. Invalid parts are ignored.
 *
 * @throws {ModelError} when the answer has no such object
 */
export function parseExtraction(text: string): Extraction {
  const found = extractJson(stripReasoning(text).trim());
  const answer = Answer.safeParse(found);
  if (!answer.success || !Object.keys(answer.data).some((key) => key in (found as object))) {
    throw new ModelError('the answer of the model is not a valid memory update', {
      details: { reason: 'bad_answer', bytes: text.length },
    });
  }
  const { user, history, newFacts, factsToRemove } = answer.data;
  return {
    sections: Object.fromEntries([...parseSections(user, USER_SECTIONS), ...parseSections(history, HISTORY_SECTIONS)]),
    newFacts: newFacts.slice(0, MAX_STATED_FACTS).flatMap(parseFact),
    factsToRemove: factsToRemove.slice(0, MAX_REMOVALS).filter((id) => typeof id === 'string'),
  };
}

const Sections = z.record(z.string(), z.unknown()).catch({});
const List = z.array(z.unknown()).catch([]);
const Answer = z.object({ user: Sections, history: Sections, newFacts: List, factsToRemove: List });

const Section = z.object({ summary: z.string(), shouldUpdate: z.literal(true) });

/** Models also write numbers as strings; anything but 0 to 1 counts as absent. */
const Confidence = z
  .union([z.number(), z.string().regex(/\d/).transform(Number)])
  .pipe(z.number().min(0).max(1))
  .catch(DEFAULT_CONFIDENCE);
const Stated = z.object({
  content: z.string(),
  category: FactCategory.catch(DEFAULT_CATEGORY),
  confidence: Confidence,
  from: z.array(z.coerce.number().int()).catch([]),
});

function parseSections(
  given: Readonly<Record<string, unknown>>,
  names: readonly SectionName[],
): [SectionName, string][] {
  return names.flatMap((name): [SectionName, string][] => {
    const section = Section.safeParse(given[name]);
    return section.success && section.data.summary.trim() !== '' ? [[name, unescapeMarkup(section.data.summary)]] : [];
  });
}

function parseFact(given: unknown): StatedFact[] {
  const fact = Stated.safeParse(given);
  if (!fact.success || fact.data.content.trim() === '') return [];
  const { content, category, confidence, from = [] } = fact.data;
  return [{ content: unescapeMarkup(content), category, confidence, ...(from.length === 0 ? {} : { from }) }];
}

/** Decodes the entities of the prompt, which models copy. */
const unescapeMarkup = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

/** Finds the JSON object in a text, repairing it if necessary; undefined when there is none. */
function extractJson(text: string): unknown {
  const fenced = /```(?:json)?\s*([\s\S]*?)```/i.exec(text)?.[1];
  const from = text.indexOf('{');
  const to = text.lastIndexOf('}');
  const open = from === -1 ? [] : [text.slice(from)];
  const closed = from === -1 || to < from ? [] : [text.slice(from, to + 1)];
  const inFence = fenced === undefined ? [] : [fenced];
  return (
    firstObject([text, ...inFence, ...closed], tryParse) ?? firstObject([...inFence, ...open, ...closed], tryRepair)
  );
}

function firstObject(texts: readonly string[], read: (text: string) => unknown): object | undefined {
  for (const text of texts) {
    const value = read(text);
    if (isRecord(value)) return value;
  }
  return undefined;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

function tryRepair(text: string): unknown {
  try {
    return tryParse(jsonrepair(text));
  } catch (cause) {
    if (cause instanceof JSONRepairError) return undefined;
    throw cause;
  }
}
