import { z } from 'zod';
import { MultitaskStrategy, RunStatus } from '../../records/runs.js';

/** What the trace of a run consists of. */

const ms = z.number().min(0);
const count = z.int().min(0);
const processName = z.string().describe('Service, host and process id, such as agent-runner@host-3 (pid 4711)');

const entry = {
  seq: z.int().min(1).describe('Increases within the trace and never changes; `after` of the next page'),
  at: z
    .string()
    .describe('When it was stored by the clock of Redis, or for parts of a step when it began, ISO 8601 UTC'),
};

const Failure = z.object({
  name: z.string().describe('Class of the error'),
  reason: z.string().nullable().describe('What kind of failure it is, such as rate_limited or auth'),
  status: z.int().nullable().describe('HTTP status of the provider'),
  message: z.string().describe('Without secrets, cut to 300 characters'),
});

const Admitted = z.object({
  ...entry,
  type: z.literal('admitted'),
  process: processName.nullable().describe('The gateway; null when an earlier version admitted the run'),
  api_key: z.string().nullable().describe('Id of the API key; null for a session or a schedule'),
  strategy: MultitaskStrategy,
  request: z.enum(['input', 'command', 'fork', 'cron', 'delayed', 'task']).describe('What was asked for'),
});

const Claimed = z.object({
  ...entry,
  type: z.literal('claimed'),
  process: processName,
  attempt: z.int().describe('1 for the first claim, one more for each further one'),
  queued_ms: ms.nullable().describe('From the admission to the first claim; null for further claims'),
});

const TakenOver = z.object({
  ...entry,
  type: z.literal('taken_over'),
  process: processName.describe('The process that continues the run'),
  attempt: z.int(),
  from: processName.nullable().describe('The owner before'),
  reason: z
    .enum(['process_died', 'lease_lapsed', 'released'])
    .describe('The process of the owner died, the lease lapsed, or the owner gave the run back'),
  lost_step: z.boolean().describe('Whether a step was under way whose details are not stored'),
});

const HandedOver = z.object({
  ...entry,
  type: z.literal('handed_over'),
  process: processName,
  reason: z.enum(['draining', 'store_unavailable']),
});

const Fenced = z.object({
  ...entry,
  type: z.literal('fenced'),
  process: processName.describe('The process that found that it had lost the run; it wrote nothing more'),
  reason: z.string(),
});

const ModelCall = z.object({
  ...entry,
  type: z.literal('model_call'),
  call: z.int().nullable().describe('Number of the request for the route of requests; null when it is not stored'),
  caller: z.string().describe('lead_agent, or middleware for a call that one of the chain made, such as for a title'),
  step: z.int(),
  attempt: z.int().describe('1, or which repetition of the same step this is, fallbacks included'),
  because: z
    .enum(['first', 'retry', 'fallback', 'layer'])
    .describe('Why it was made: the first of the step, a retry, a fallback model, or because a middleware asked again'),
  model: z.string().describe('Configured name'),
  provider_model: z.string().nullable(),
  provider: z.string().nullable(),
  outcome: z.enum(['ok', 'error', 'aborted']),
  first_token_ms: ms.nullable(),
  duration_ms: ms.nullable().describe('Null for calls of middlewares, of which the tokens are known only'),
  input_tokens: count.nullable(),
  output_tokens: count.nullable(),
  cached_input_tokens: count.nullable(),
  reasoning_tokens: count.nullable(),
  finish_reason: z.string().nullable(),
  message_id: z.string().nullable().describe('Of the answer'),
  error: Failure.nullable(),
});

const HookPart = z.object({
  middleware: z.string(),
  duration_ms: ms.describe('In its own hooks, without the layers within'),
  calls: count,
  decisions: z.array(z.string()).describe('`<decision>` or `<decision> ×<times>`'),
});

const Hooks = z.object({
  ...entry,
  type: z.literal('hooks'),
  step: z.int(),
  duration_ms: ms.describe('Of all hooks since the commit before'),
  parts: z.array(HookPart).describe('Those that took a millisecond or decided something, the slowest first'),
});

const ToolCall = z.object({
  ...entry,
  type: z.literal('tool_call'),
  step: z.int(),
  name: z.string(),
  tool_call_id: z.string(),
  duration_ms: ms.nullable(),
  outcome: z
    .enum(['ok', 'error', 'unknown', 'interrupted', 'aborted'])
    .describe('unknown: it may have been executed, and its result is lost. interrupted: it waits for an answer'),
  error: z.string().nullable().describe('Beginning of the error that the model was given, at most 200 characters'),
});

const Commit = z.object({
  ...entry,
  type: z.literal('commit'),
  step: z.int().nullable(),
  checkpoint_id: z.string(),
  next: z.array(z.string()).describe('The nodes that follow; empty at the end'),
  duration_ms: ms.nullable().describe('As the process saw it; null for the last one, and when the process was lost'),
  bytes: count.nullable().describe('Of the new messages, values and checkpoint before compression'),
});

const Task = z.object({
  ...entry,
  type: z.literal('task'),
  task_id: z.string().describe('For the routes of tasks, which have a trace of their own'),
  subagent_type: z.string().nullable(),
  duration_ms: ms.nullable(),
  outcome: z.enum(['ok', 'error', 'unknown', 'interrupted', 'aborted']),
});

const Interrupted = z.object({
  ...entry,
  type: z.literal('interrupted'),
  interrupts: z.array(z.object({ id: z.string(), kind: z.string(), expires_at: z.string().nullable() })),
});

const Answered = z.object({
  ...entry,
  type: z.literal('answered'),
  interrupt_ids: z.array(z.string()),
  by: z.string().nullable().describe('Id of the user who answered; null: the deadline'),
});

const CancelRequested = z.object({
  ...entry,
  type: z.literal('cancel_requested'),
  action: z.enum(['interrupt', 'rollback']),
  by: z.string().describe('user:<id>, run:<id> of the run whose strategy asked for it, disconnect, or unknown'),
});

const Paused = z.object({
  ...entry,
  type: z.literal('paused'),
  by: z.string().nullable().describe('Id of the user who asked for it'),
});

const Ended = z.object({
  ...entry,
  type: z.literal('ended'),
  status: RunStatus,
  reason: z.string().nullable().describe('What ended it early, such as a limit'),
  error: z.object({ name: z.string(), message: z.string() }).nullable(),
  process: processName.nullable().describe('Null for a run that ended while it was queued'),
});

const Note = z.object({
  ...entry,
  type: z.literal('note'),
  note: z
    .enum(['steps_dropped', 'step_too_large', 'unreadable'])
    .describe(
      'Parts of the trace that are not there: the oldest ones in its middle, details of one step, or damaged ones',
    ),
  dropped: count,
});

export const TraceEntry = z.discriminatedUnion('type', [
  Admitted,
  Claimed,
  TakenOver,
  HandedOver,
  Fenced,
  ModelCall,
  Hooks,
  ToolCall,
  Commit,
  Task,
  Interrupted,
  Answered,
  CancelRequested,
  Paused,
  Ended,
  Note,
]);
export type TraceEntry = z.infer<typeof TraceEntry>;
