import { NotFoundError, type RunRecord, toClientState } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore, WebhookEvent } from '@caribou/state';
import { stringifyInSlices } from '../http/sliced-json.js';
import { runJson } from '../runs/run-json.js';
import { stableId } from '../runs/streams/projections/stable-id.js';

export interface PayloadOptions {
  readonly maxBytes: number;
  /** When it is sent for the first time, by the clock of the store. */
  readonly sentAtMs: number;
}

type Store = Pick<ThreadStore, 'getRun' | 'history'>;

/**
 * The body of a delivery in LangGraph's format: the run, when it started and ended, and the values of its last checkpoint.
 * Of a run that is gone, only what the event says. What would be too large is left out: values and kwargs, then metadata.
 *
 * @throws {UnavailableError}
 */
export async function webhookBody(store: Store, event: WebhookEvent, options: PayloadOptions): Promise<string> {
  const run = await orNull(store.getRun({ userId: event.userId, threadId: event.threadId }, event.eventId));
  const outcome = {
    status: event.status,
    run_started_at: event.startedAt,
    run_ended_at: event.endedAt,
    webhook_sent_at: new Date(options.sentAtMs).toISOString(),
    ...errorOf(run),
  };
  const known = run === null ? whatIsLeft(event) : { ...runJson(run), error: undefined };
  const smaller = { values: null, truncated: true };
  const forms = [
    { ...known, ...outcome, values: await readValues(store, event) },
    { ...known, ...outcome, kwargs: {}, ...smaller },
  ];
  for (const form of forms) {
    const text = await stringifyInSlices(form);
    if (Buffer.byteLength(text) <= options.maxBytes) return text;
  }
  return JSON.stringify({ ...whatIsLeft(event), ...outcome, ...smaller });
}

const whatIsLeft = ({ eventId, threadId, assistantId, createdAt, endedAt }: WebhookEvent) => ({
  run_id: eventId,
  thread_id: threadId,
  assistant_id: stableId(assistantId),
  created_at: createdAt,
  updated_at: endedAt,
  metadata: {},
  kwargs: {},
});

/** The message alone, as LangGraph has it. */
const errorOf = (run: RunRecord | null) => (run === null || run.error === null ? {} : { error: run.error.message });

/** The values of the newest checkpoint that the run has written; null when there is none. */
async function readValues(store: Store, { userId, threadId, eventId }: WebhookEvent): Promise<unknown> {
  const key: ThreadKey = { userId, threadId };
  const views = await orNull(store.history(key, { limit: 1, metadata: { run_id: eventId } }));
  const [newest] = views ?? [];
  return newest === undefined ? null : toClientState(newest.state);
}

async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
