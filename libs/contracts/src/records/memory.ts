import { z } from 'zod';

/** Bounds of a memory. Characters are UTF-16 units. */
export const MAX_FACT_CHARS = 1_000;
export const MAX_SUMMARY_CHARS = 4_000;
/** The highest `memory.max_facts` a configuration may set. */
export const MAX_FACTS = 500;
/** Maximum size of the whole document as JSON in UTF-8. */
export const MAX_MEMORY_BYTES = 256 * 1024;

/**
 * Name of the agent that a memory belongs to, used in keys: the user's own memory is that of `lead_agent`; a custom
 * agent's memory replaces it in that agent's prompts.
 */
export const MemoryAgent = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"');

/** DeerFlow's categories; `correction`: the user corrected the assistant, which outweighs what it contradicts. */
export const FactCategory = z.enum(['preference', 'knowledge', 'context', 'behavior', 'goal', 'correction']);
export type FactCategory = z.infer<typeof FactCategory>;

const Time = z.iso.datetime({ offset: true, error: 'must be an ISO 8601 time' });
const tooLong = (limit: number): string => `must have at most ${limit} characters`;

export const FactContent = z.string().trim().min(1, 'must not be empty').max(MAX_FACT_CHARS, tooLong(MAX_FACT_CHARS));
export const FactConfidence = z.number().min(0).max(1);

export const MemoryFact = z.object({
  id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"'),
  content: FactContent,
  category: FactCategory,
  confidence: FactConfidence,
  createdAt: Time,
  source: z
    .string()
    .min(1)
    .max(64)
    .describe('Thread that it was extracted from; `manual`: entered by hand; `unknown`: imported without a source'),
});
export type MemoryFact = z.infer<typeof MemoryFact>;

export const MemorySection = z.object({
  summary: z.string().max(MAX_SUMMARY_CHARS, tooLong(MAX_SUMMARY_CHARS)),
  updatedAt: z.union([z.literal(''), Time]).describe('Empty: never'),
});
export type MemorySection = z.infer<typeof MemorySection>;

export const USER_SECTIONS = ['workContext', 'personalContext', 'topOfMind'] as const;
export const HISTORY_SECTIONS = ['recentMonths', 'earlierContext', 'longTermBackground'] as const;

/** One agent's memory of a user: DeerFlow's `memory.json`, and the reply of every memory route. */
export const MemoryDocument = z.object({
  version: z.literal('1.0'),
  lastUpdated: Time,
  user: z.object({ workContext: MemorySection, personalContext: MemorySection, topOfMind: MemorySection }),
  history: z.object({
    recentMonths: MemorySection,
    earlierContext: MemorySection,
    longTermBackground: MemorySection,
  }),
  facts: z.array(MemoryFact).max(MAX_FACTS, `must have at most ${MAX_FACTS} entries`),
});
export type MemoryDocument = z.infer<typeof MemoryDocument>;

/** The cause of a change; `extraction` names the thread that was processed. */
export const MemoryCause = z.object({
  kind: z.enum(['extraction', 'fact_added', 'fact_edited', 'fact_deleted', 'cleared', 'imported']),
  threadId: z.string().optional(),
});
export type MemoryCause = z.infer<typeof MemoryCause>;

/** `lastUpdated` of a memory that was never written. */
export const NEVER_UPDATED = '1970-01-01T00:00:00.000Z';

/** Creates an empty memory; web clients need a `lastUpdated` that is a time. */
export function emptyMemory(lastUpdated = NEVER_UPDATED): MemoryDocument {
  const section = (): MemorySection => ({ summary: '', updatedAt: '' });
  return {
    version: '1.0',
    lastUpdated,
    user: { workContext: section(), personalContext: section(), topOfMind: section() },
    history: { recentMonths: section(), earlierContext: section(), longTermBackground: section() },
    facts: [],
  };
}
