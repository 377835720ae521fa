import { z } from 'zod';
import { Decider } from '../settings/decider.js';

/** Bytes of JSON that the value of one interrupt may have; it is stored in the checkpoint and in every event of it. */
export const MAX_INTERRUPT_BYTES = 64 * 1024;
/** How many interrupts of a thread may wait at once. */
export const MAX_OPEN_INTERRUPTS = 100;

/** Derived from what the run had reached, so that a takeover asks under the same id; never used for another question. */
export const InterruptId = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 hexadecimal digits');

/** What an interrupt is for. A `question` has any value; the others have the values of the modules that raise them. */
export const InterruptKind = z.enum(['question', 'approval', 'paused']);
export type InterruptKind = z.infer<typeof InterruptKind>;

/** A question that stops a run until somebody answers it. */
export const InterruptRecord = z.object({
  id: InterruptId,
  kind: InterruptKind,
  /** What is asked, for clients: JSON of at most MAX_INTERRUPT_BYTES. */
  value: z.unknown(),
  /** JSON Schema of the answer; absent: any JSON. */
  schema: z.record(z.string(), z.unknown()).optional(),
  /** What raised it: `tool:<tool call id>`, or the node of a hook such as `title.after_model`. */
  scope: z.string(),
  /** Which interrupt of the scope it is. */
  key: z.string(),
  /** The run that raised it first. The keys of its tool calls remain those of this run. */
  run_id: z.string(),
  /** Path of the subagent that asks, as in LangGraph's namespaces; absent: the agent of the thread. */
  namespace: z.array(z.string()).optional(),
  decider: Decider,
  /** ISO 8601 UTC. */
  created_at: z.string(),
  /** When `on_expiry` becomes the answer, in milliseconds since 1970; absent: it waits for ever. */
  expires_ms: z.int().optional(),
  /** The answer after `expires_ms`. */
  on_expiry: z.unknown().optional(),
});
export type InterruptRecord = z.infer<typeof InterruptRecord>;

/** An interrupt with its answer, which is not used up yet. */
export const AnsweredInterrupt = InterruptRecord.extend({
  answer: z.unknown(),
  /** User id of who answered; absent: the deadline did. */
  answered_by: z.string().optional(),
  answered_at: z.string(),
});
export type AnsweredInterrupt = z.infer<typeof AnsweredInterrupt>;

/** Settings of a run that the run which continues it takes over. */
export const RunTerms = z.object({ context: z.record(z.string(), z.unknown()), recursion_limit: z.int().min(1) });
export type RunTerms = z.infer<typeof RunTerms>;

/** The channel `interrupts` of a thread's state, which no client sees as a value. Absent: nothing was asked. */
export const ThreadInterrupts = z.object({
  open: z.array(InterruptRecord).max(MAX_OPEN_INTERRUPTS),
  answered: z.array(AnsweredInterrupt),
  /** Settings of the run that asked, for the run that continues. */
  continues: RunTerms.optional(),
});
export type ThreadInterrupts = z.infer<typeof ThreadInterrupts>;

/** An interrupt in LangGraph's format. */
export const ClientInterrupt = z.object({
  id: InterruptId,
  value: z.unknown(),
  response_schema: z.record(z.string(), z.unknown()).optional(),
  namespace: z.array(z.string()).optional(),
  resumable: z.literal(true),
  when: z.literal('during'),
});
export type ClientInterrupt = z.infer<typeof ClientInterrupt>;

/** Returns an interrupt as clients of LangGraph read it. */
export const toClientInterrupt = ({ id, value, schema, namespace }: InterruptRecord): ClientInterrupt => ({
  id,
  value,
  ...(schema === undefined ? {} : { response_schema: schema }),
  ...(namespace === undefined ? {} : { namespace }),
  resumable: true,
  when: 'during',
});

/** Returns the open interrupts of a state as clients read them. */
export const clientInterruptsOf = ({
  interrupts,
}: {
  readonly interrupts?: ThreadInterrupts | undefined;
}): ClientInterrupt[] => (interrupts?.open ?? []).map(toClientInterrupt);
