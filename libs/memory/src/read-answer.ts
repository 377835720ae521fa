import { FactCategory, HISTORY_SECTIONS, ModelError, USER_SECTIONS } from '@caribou/contracts';
import { stripReasoning } from '@caribou/core';
import { jsonrepair, JSONRepairError } from 'jsonrepair';
import { z } from 'zod';

/** A fact as a model states it. */
export interface StatedFact {
  readonly content: string;
  readonly category: FactCategory;
  readonly confidence: number;
  /** Numbers of the lines that say it; absent when the model named none. */
  readonly from?: readonly number[];
}

export type SectionName = (typeof USER_SECTIONS)[number] | (typeof HISTORY_SECTIONS)[number];

/** What a model says that changes in a memory. */
export interface Extraction {
  /** New summaries of the sections that change. */
  readonly sections: Readonly<Partial<Record<SectionName, string>>>;
  readonly newFacts: readonly StatedFact[];
  readonly factsToRemove: readonly string[];
}

const MAX_STATED_FACTS = 100;
const MAX_REMOVALS = 500;
/** DeerFlow's values for a fact without them. */
const DEFAULT_CONFIDENCE = 0.5;
const DEFAULT_CATEGORY = 'context';

/**
 * Reads what a model answered: JSON, also within thoughts, a code fence or prose, and JSON with the faults models make.
 * What is not as asked for inside it is left out; the rest counts.
 *
 * @throws {ModelError} when there is no such object in it
 */
export function readAnswer(text: string): Extraction {
  const found = jsonIn(stripReasoning(text).trim());
  const answer = Answer.safeParse(found);
  if (!answer.success || !Object.keys(answer.data).some((key) => key in (found as object))) {
    throw new ModelError('the model answered what is no change of a memory', {
      details: { reason: 'bad_answer', bytes: text.length },
    });
  }
  const { user, history, newFacts, factsToRemove } = answer.data;
  return {
    sections: Object.fromEntries([...changed(user, USER_SECTIONS), ...changed(history, HISTORY_SECTIONS)]),
    newFacts: newFacts.slice(0, MAX_STATED_FACTS).flatMap(statedFact),
    factsToRemove: factsToRemove.slice(0, MAX_REMOVALS).filter((id) => typeof id === 'string'),
  };
}

const Sections = z.record(z.string(), z.unknown()).catch({});
const List = z.array(z.unknown()).catch([]);
const Answer = z.object({ user: Sections, history: Sections, newFacts: List, factsToRemove: List });

const Section = z.object({ summary: z.string(), shouldUpdate: z.literal(true) });

/** Models write numbers as texts too; what is none of 0 to 1 counts as not given. */
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

function changed(given: Readonly<Record<string, unknown>>, names: readonly SectionName[]): [SectionName, string][] {
  return names.flatMap((name): [SectionName, string][] => {
    const section = Section.safeParse(given[name]);
    return section.success && section.data.summary.trim() !== '' ? [[name, unescaped(section.data.summary)]] : [];
  });
}

function statedFact(given: unknown): StatedFact[] {
  const fact = Stated.safeParse(given);
  if (!fact.success || fact.data.content.trim() === '') return [];
  const { content, category, confidence, from = [] } = fact.data;
  return [{ content: unescaped(content), category, confidence, ...(from.length === 0 ? {} : { from }) }];
}

/** Models copy the entities they were shown. */
const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

/** The value of the JSON in a text, repaired where it must be; undefined when there is none. */
function jsonIn(text: string): unknown {
  const fenced = /```(?:json)?\s*([\s\S]*?)```/i.exec(text)?.[1];
  const from = text.indexOf('{');
  const to = text.lastIndexOf('}');
  const open = from === -1 ? [] : [text.slice(from)];
  const closed = from === -1 || to < from ? [] : [text.slice(from, to + 1)];
  const inFence = fenced === undefined ? [] : [fenced];
  return firstObject([text, ...inFence, ...closed], parsed) ?? firstObject([...inFence, ...open, ...closed], repaired);
}

function firstObject(texts: readonly string[], read: (text: string) => unknown): object | undefined {
  for (const text of texts) {
    const value = read(text);
    if (isObject(value)) return value;
  }
  return undefined;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

function repaired(text: string): unknown {
  try {
    return parsed(jsonrepair(text));
  } catch (cause) {
    if (cause instanceof JSONRepairError) return undefined;
    throw cause;
  }
}
