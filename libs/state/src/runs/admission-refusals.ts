import {
  BugError,
  ConflictError,
  FencedError,
  InvalidRequestError,
  NotFoundError,
  QuotaError,
  RateLimitedError,
  UserId,
} from '@caribou/contracts';
import { stateTooLarge } from '../checkpoints/state-updates.js';
import type { AdmitRequest } from '../ports/admission.js';
import type { StoreSettings } from '../redis/store-settings.js';
import type { Reply } from '../redis/thread-call.js';
import { tooManyThreads } from '../threads/thread-records.js';
import { refusedSteering } from './steering-call.js';

/** The error for an idempotency key that is used for another request. */
export const otherBody = (): InvalidRequestError =>
  new InvalidRequestError('this Idempotency-Key was used with another request body');

/** The error for a refused admission; nothing was written. */
export function refusal([outcome, used]: Reply, request: AdmitRequest, settings: StoreSettings): Error {
  const details = { threadId: request.threadId };
  switch (outcome) {
    case 'busy':
      return new ConflictError(
        'Thread is already running a task. Wait for it to finish or choose a different multitask strategy.',
        { details },
      );
    case 'no_thread':
      return new NotFoundError(`Thread ${request.threadId} does not exist`, { details });
    case 'no_checkpoint':
      return noCheckpoint(request, details);
    case 'other_body':
      return otherBody();
    case 'gone':
      return new ConflictError('the run of this Idempotency-Key was deleted or rolled back', { details });
    case 'crowded':
      return new RateLimitedError(`${settings.maxPending} threads are waiting or running, which is the limit`, {
        details: { limit: settings.maxPending },
      });
    case 'full':
      return tooManyQueued(settings, details);
    case 'quota':
      return tooManyRuns(settings, details);
    default:
      return (
        refusedCommand([outcome, used], details) ??
        refusedSteering([outcome, used], details, settings) ??
        overStorage(outcome, Number(used), settings)
      );
  }
}

type Details = Readonly<Record<string, unknown>>;

function noCheckpoint(request: AdmitRequest, details: Details): Error {
  const { checkpointId = '' } = request;
  if (readRegeneratedRunId(request) !== '') return createTurnStartRemovedError(checkpointId);
  return new NotFoundError(`Checkpoint ${checkpointId} does not exist`, { details });
}

/** The error for a command that comes too late; undefined for another outcome. */
function refusedCommand([outcome, interrupt]: Reply, details: Details): Error | undefined {
  switch (outcome) {
    case 'nothing_asked':
      return new ConflictError('command.resume: the thread waits for no answer; it may have been answered already', {
        details,
      });
    case 'unknown_interrupt':
      return new ConflictError(
        `command.resume: the thread waits for no answer to interrupt ${String(interrupt)}; it may have been answered already`,
        { details: { ...details, interruptId: interrupt } },
      );
    case 'expired':
      return new ConflictError(
        `the deadline of interrupt ${String(interrupt)} has passed: it can no longer be answered`,
        {
          details: { ...details, interruptId: interrupt },
        },
      );
    case 'early':
      return new ConflictError(`the deadline of interrupt ${String(interrupt)} has not passed yet`, { details });
    case 'other_checkpoint':
      return new ConflictError('command: the thread went on since the checkpoint that the request names', { details });
    default:
      return undefined;
  }
}

const tooManyQueued = ({ maxQueuedRuns: limit }: StoreSettings, details: Details): QuotaError =>
  new QuotaError(
    `the thread has ${limit} queued runs, which is the limit (quotas.max_queued_runs_per_thread)`,
    { quota: 'queued-runs', limit, used: limit },
    { details },
  );

const tooManyRuns = ({ maxInFlightRuns: limit }: StoreSettings, details: Details): QuotaError =>
  new QuotaError(
    `${limit} runs are in flight, which is the limit (quotas.max_runs_per_user)`,
    { quota: 'runs', limit, used: limit },
    { details },
  );

const tooManyDelayed = ({ maxDelayedRuns: limit }: StoreSettings): QuotaError =>
  new QuotaError(
    `after_seconds: ${limit} of your runs wait for their time, which is the limit (quotas.max_delayed_runs_per_user)`,
    { quota: 'delayed-runs', limit, used: limit },
  );

const tooManyEvents = ({ maxWebhookEvents: limit }: StoreSettings): QuotaError =>
  new QuotaError(
    `webhook: ${limit} of your events wait for their delivery, which is the limit (webhooks.max_waiting_per_user)`,
    { quota: 'webhook-events', limit, used: limit },
  );

const tooManyBytes = ({ maxStoredBytes: limit }: StoreSettings, used: number): QuotaError =>
  new QuotaError(
    `your runs hold ${used} bytes, and with this one more than the limit of ${limit} (quotas.max_run_bytes_per_user): delete threads or runs`,
    { quota: 'run-bytes', limit, used },
  );

/** The error when nothing more may be stored for the user. */
function overStorage(outcome: unknown, used: number, settings: StoreSettings): Error {
  switch (outcome) {
    case 'many':
      return tooManyThreads(settings);
    case 'large':
      return stateTooLarge(settings);
    case 'stored':
      return tooManyBytes(settings, used);
    default:
      return refusalOfTime(outcome, settings);
  }
}

/** The error for what has to do with the time of the run, or with the announcement of its end. */
function refusalOfTime(outcome: unknown, settings: StoreSettings): Error {
  switch (outcome) {
    case 'delays':
      return tooManyDelayed(settings);
    case 'events':
      return tooManyEvents(settings);
    case 'not_due':
      return new FencedError('another process has decided about this due time');
    default:
      return new BugError(`unknown reply of admit: ${String(outcome)}`);
  }
}

/** Returns the run whose turn a request regenerates, from the client's metadata; or '' if it regenerates no turn. */
export function readRegeneratedRunId({ metadata }: Pick<AdmitRequest, 'metadata'>): string {
  const { regenerate_from_run_id: source } = metadata;
  const named = source === undefined ? undefined : UserId.safeParse(source);
  return named?.data ?? '';
}

/** The error for a turn that is to be regenerated when the checkpoint from which it began was removed. */
export const createTurnStartRemovedError = (checkpointId: string, cause?: unknown): ConflictError =>
  new ConflictError(
    `this message cannot be regenerated: checkpoint_id ${checkpointId}, from which its turn began, is no longer stored; ` +
      'send the message as a new turn instead',
    { details: { checkpointId }, cause },
  );
