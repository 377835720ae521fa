import {
  CancelAction,
  MultitaskStrategy,
  type NumberedEvent,
  type RunEvent,
  type RunRecord,
  type RunSummary,
  RunStatus,
} from '@caribou/contracts';
import { hashOf } from '../redis/hash.js';
import { parseStored } from '../redis/stored-json.js';

/** The run record that `runs/admit.lua` wrote, with its kwargs; null: an earlier version kept them in the record. */
export const runOf = (flat: unknown, kwargs: unknown): RunRecord => ({
  ...summaryOf(flat),
  kwargs: parseStored<RunRecord['kwargs']>(typeof kwargs === 'string' ? kwargs : (hashOf(flat).get('kwargs') ?? '')),
});

/** The run record that `runs/admit.lua` wrote; unset texts are stored as ''. */
export function summaryOf(flat: unknown): RunSummary {
  const hash = hashOf(flat);
  const text = (field: string): string => hash.get(field) ?? '';
  const number = (field: string): number => Number(text(field));
  const orNull = (field: string): string | null => (text(field) === '' ? null : text(field));
  return {
    run_id: text('run_id'),
    thread_id: text('thread_id'),
    assistant_id: text('assistant_id'),
    status: RunStatus.parse(text('status')),
    metadata: parseStored<RunRecord['metadata']>(text('metadata')),
    multitask_strategy: MultitaskStrategy.parse(text('multitask_strategy')),
    created_at: text('created_at'),
    updated_at: text('updated_at'),
    attempt: number('attempt'),
    total_input_tokens: number('input_tokens'),
    total_output_tokens: number('output_tokens'),
    total_tokens: number('input_tokens') + number('output_tokens'),
    llm_call_count: number('calls'),
    lead_agent_tokens: number('lead_agent_tokens'),
    subagent_tokens: number('subagent_tokens'),
    middleware_tokens: number('middleware_tokens'),
    stop_reason: orNull('stop_reason'),
    error: text('error') === '' ? null : parseStored<RunRecord['error']>(text('error')),
    user_id: text('user_id'),
    base_checkpoint_id: orNull('base_checkpoint_id'),
    fork_checkpoint_id: orNull('fork_checkpoint_id'),
    input_committed: text('input_committed') === '1',
    cancel: cancelOf(text('cancel')),
    dropped_message_ids: parseStored<string[]>(`[${text('dropped')}]`),
    traceparent: orNull('traceparent'),
    started_at: text('started') === '' ? null : new Date(number('started')).toISOString(),
    last_seq: number('seq'),
  };
}

/** A stored cancel flag; '' means none. */
export const cancelOf = (text: unknown): CancelAction | null => (text === '' ? null : CancelAction.parse(text));

/** Events with the numbers a script gave them: consecutive from `first`. */
export const numbered = (first: unknown, events: readonly RunEvent[]): NumberedEvent[] =>
  events.map((event, index) => ({ seq: Number(first) + index, event }));
