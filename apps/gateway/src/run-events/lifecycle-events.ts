import { isTerminal, type RunRecord } from '@caribou/contracts';
import type { Happened } from './event-order.js';
import type { MiddlewareEvents } from './middleware-events.js';

/** The caller of what the lead agent did; DeerFlow's clients show nothing of other callers as the answer. */
export const LEAD_CALLER = 'lead_agent';

/**
 * When a run began, failed and ended, by its record, which outlives its event log.
 *
 * @param logged how much of the event log is stored, where that was looked at
 */
export function lifecycleEvents(run: RunRecord, logged: MiddlewareEvents['log'] | null): Happened[] {
  const { started_at: startedAt, updated_at: endedAt, status, error, assistant_id: chain, attempt } = run;
  const events: Happened[] = [];
  if (startedAt !== null)
    events.push({
      source: 'start',
      event_type: 'run.start',
      category: 'trace',
      content: { chain },
      metadata: { caller: LEAD_CALLER, attempt, ...(logged === null ? {} : { middleware_events: logged }) },
      created_at: startedAt,
    });
  if (!isTerminal(status)) return events;
  if (error !== null)
    events.push({
      source: 'error',
      event_type: 'run.error',
      category: 'error',
      content: error.message,
      metadata: { error_type: error.name },
      created_at: endedAt,
    });
  events.push({
    source: 'end',
    event_type: 'run.end',
    category: 'outputs',
    content: {},
    metadata: { status },
    created_at: endedAt,
  });
  return events;
}
