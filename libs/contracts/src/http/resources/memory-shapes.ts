import { z } from 'zod';
import {
  FactCategory,
  FactConfidence,
  FactContent,
  HISTORY_SECTIONS,
  MAX_FACT_CHARS,
  MAX_SUMMARY_CHARS,
  MemoryCause,
  MemoryDocument,
  MemoryFact,
  USER_SECTIONS,
} from '../../records/memory.js';

/** Maximum facts of an import; those above the configured number are dropped afterwards, the least certain first. */
const MAX_IMPORTED_FACTS = 2_000;
/** Confidence of a fact that a user enters: as high as of an explicit statement in a conversation. */
const ENTERED_CONFIDENCE = 0.9;

export const MemoryConfigReply = z.object({
  enabled: z.boolean(),
  storage_path: z.string().describe('Empty: memory is not stored in a file'),
  debounce_seconds: z.number(),
  model_name: z.string().nullable(),
  max_facts: z.number().int(),
  fact_confidence_threshold: z.number(),
  injection_enabled: z.boolean(),
  max_injection_tokens: z.number().int(),
});
export type MemoryConfigReply = z.infer<typeof MemoryConfigReply>;

export const MemoryStatusReply = z.object({
  config: MemoryConfigReply,
  data: MemoryDocument,
  revision: z.number().int().describe('Increases with each change'),
  agents: z.array(z.string()).describe('Agents with a memory of this user'),
  extraction: z.object({
    due: z.number().int().describe('Threads with messages that were not extracted yet'),
    running: z.number().int(),
    given_up: z
      .array(z.object({ thread_id: z.string(), agent: z.string(), at: z.string(), reason: z.string() }))
      .describe('Threads whose extraction failed for good, up to the position it had reached'),
  }),
  quarantined: z
    .array(z.object({ agent: z.string(), at: z.string(), reason: z.string(), bytes: z.number().int() }))
    .describe('Memories that could not be read: quarantined, never overwritten'),
});
export type MemoryStatusReply = z.infer<typeof MemoryStatusReply>;

export const MemoryHistoryReply = z.object({
  changes: z.array(
    z.object({
      revision: z.number().int(),
      at: z.string(),
      cause: z.object({ kind: MemoryCause.shape.kind, thread_id: z.string().nullable() }),
      added: z.array(MemoryFact),
      removed: z.array(MemoryFact),
      changed: z.array(MemoryFact).describe('As they were before'),
      sections: z.record(z.string(), z.string()).describe('Summaries as they were before'),
    }),
  ),
});
export type MemoryHistoryReply = z.infer<typeof MemoryHistoryReply>;

export const FactListReply = z.object({ facts: z.array(MemoryFact), count: z.number().int() });

const isGiven = (value: unknown): boolean => value !== null && value !== undefined;

export const NewFact = z.object({
  content: FactContent,
  category: FactCategory.default('context'),
  confidence: FactConfidence.default(ENTERED_CONFIDENCE),
});
export type NewFact = z.infer<typeof NewFact>;

export const FactChanges = z
  .object({ content: FactContent.nullish(), category: FactCategory.nullish(), confidence: FactConfidence.nullish() })
  .refine((changes) => Object.values(changes).some(isGiven), 'must have at least one of content, category, confidence');
export type FactChanges = z.infer<typeof FactChanges>;

/** A summary in any format that DeerFlow ever wrote: nothing, plain text, or without the time of its change. */
const OldSection = z
  .preprocess(
    (value) => (typeof value === 'string' ? { summary: value } : value),
    z
      .looseObject({
        summary: z
          .string()
          .trim()
          .max(MAX_SUMMARY_CHARS, `must have at most ${MAX_SUMMARY_CHARS} characters`)
          .nullish(),
        updatedAt: z.unknown().optional(),
      })
      .nullish(),
  )
  .optional();

/** Only the content of a legacy fact must be valid; invalid other fields are corrected. */
const LegacyFact = z.preprocess(
  (value) => (typeof value === 'string' ? { content: value } : value),
  z.looseObject({
    content: z.string().trim().max(MAX_FACT_CHARS, `must have at most ${MAX_FACT_CHARS} characters`).nullish(),
    id: z.unknown().optional(),
    category: z.unknown().optional(),
    confidence: z.unknown().optional(),
    createdAt: z.unknown().optional(),
    source: z.unknown().optional(),
  }),
);
export type LegacyFact = z.infer<typeof LegacyFact>;

const oldSections = <Name extends string>(names: readonly Name[]) =>
  z
    .looseObject(Object.fromEntries(names.map((name) => [name, OldSection])) as Record<Name, typeof OldSection>)
    .nullish();

/** DeerFlow's `memory.json` of any version, or an export. */
export const MemoryImport = z
  .looseObject({
    user: oldSections(USER_SECTIONS),
    history: oldSections(HISTORY_SECTIONS),
    facts: z.array(LegacyFact).max(MAX_IMPORTED_FACTS, `must have at most ${MAX_IMPORTED_FACTS} entries`).nullish(),
  })
  .refine(
    ({ user, history, facts }) => [user, history, facts].some(isGiven),
    'must have at least one of user, history, facts',
  );
export type MemoryImport = z.infer<typeof MemoryImport>;
