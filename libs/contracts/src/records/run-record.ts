import { z } from 'zod';
import { CancelAction, MultitaskStrategy, RunKwargs, RunStatus } from './runs.js';

/** How the run's Redis hash stores a field, where it is not one field of the same name. */
interface StoredField {
  /** Names in the hash; a number is the sum of them. */
  readonly from?: readonly string[];
  /** `items`: JSON values between commas. `milliseconds`: a time since 1970; the field is an ISO time. */
  readonly as?: 'items' | 'milliseconds';
}

/** Read by the codec in libs/state. */
export const storedFields = z.registry<StoredField>();

const count = () => z.number().int();

/** The fields of a run that the API returns. */
export const publicRunFields = {
  run_id: z.string(),
  thread_id: z.string(),
  assistant_id: z.string(),
  status: RunStatus,
  metadata: z.record(z.string(), z.unknown()),
  /** Stored under a separate key, which expires after the end of the run. */
  kwargs: RunKwargs,
  multitask_strategy: MultitaskStrategy,
  created_at: z.string(),
  updated_at: z.string(),
  total_input_tokens: count().register(storedFields, { from: ['input_tokens'] }),
  total_output_tokens: count().register(storedFields, { from: ['output_tokens'] }),
  total_tokens: count().register(storedFields, { from: ['input_tokens', 'output_tokens'] }),
  llm_call_count: count().register(storedFields, { from: ['calls'] }),
  /** Parts of `total_tokens`, by who called the model. */
  lead_agent_tokens: count(),
  subagent_tokens: count(),
  middleware_tokens: count(),
  stop_reason: z.string().nullable(),
  error: z.object({ name: z.string(), message: z.string() }).nullable(),
};

/**
 * A stored run. This is the only list of its fields: the API's reply is built from `publicRunFields`, and the store's
 * codec reads the Redis hash by it.
 */
export const RunRecord = z.object({
  ...publicRunFields,
  /** Increases with each claim; shown in `metadata` events. */
  attempt: count(),
  /** Some time after the end, what was asked is no longer stored: `kwargs` is then that of a run without input. */
  kwargs_expired: z.boolean(),
  user_id: z.string(),
  /** Head when the run became current; null until then, and for a thread that had none. */
  base_checkpoint_id: z.string().nullable(),
  /** Set when the request named a checkpoint other than the head. */
  fork_checkpoint_id: z.string().nullable(),
  /** The input is part of a checkpoint; a takeover must not commit it again. Not stored after the end. */
  input_committed: z.boolean(),
  cancel: CancelAction.nullable(),
  /** It is to stop at its next step. Not stored after the end. */
  pause: z.boolean(),
  /** How many messages joined it, in addition to its input. */
  steered: count(),
  /** Ids of messages that were partly streamed and then discarded: replays omit their deltas. */
  dropped_message_ids: z.array(z.string()).register(storedFields, { from: ['dropped'], as: 'items' }),
  /** Id of the API key that pays for it. Not stored after the end. */
  api_key: z.string().nullable(),
  /** Not stored after the end. */
  traceparent: z.string().nullable(),
  /** When it was claimed for the first time. */
  started_at: z
    .string()
    .nullable()
    .register(storedFields, { from: ['started'], as: 'milliseconds' }),
  /** Number of the newest event ever written to its log, which expires before the record; 0: none. */
  last_seq: count().register(storedFields, { from: ['seq'] }),
  /** Its number among all runs ever admitted to its thread, from 1; 0: admitted by a version that did not count them. */
  ordinal: count(),
});
export type RunRecord = z.infer<typeof RunRecord>;

/** A run without its request, which may be large. */
export const RunSummary = RunRecord.omit({ kwargs: true, kwargs_expired: true });
export type RunSummary = z.infer<typeof RunSummary>;
