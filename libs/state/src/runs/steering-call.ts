import { ConflictError, QuotaError } from '@caribou/contracts';
import type { AdmitRequest, AdmitResult } from '../ports/admission.js';
import type { StoreSettings } from '../redis/store-settings.js';
import type { Reply } from '../redis/thread-call.js';
import { runOf } from './run-codec.js';

type Details = Readonly<Record<string, unknown>>;

/** The messages of a request that may join a run, with their limits, as `steering/steer.lua` reads them. */
export function steeringCall(request: AdmitRequest, settings: StoreSettings) {
  const { multitaskStrategy, kwargs } = request;
  if (multitaskStrategy !== 'steer') return { params: {}, texts: [] };
  const messages = kwargs.input?.messages ?? [];
  return {
    params: {
      messages: messages.map(({ id }) => Buffer.from(id).toString()),
      join_only: request.joinOnly ?? false,
      max_steering: settings.maxSteering,
      max_steering_bytes: settings.maxSteeringBytes,
    },
    texts: messages.map((message) => JSON.stringify(message)),
  };
}

/** The result of an admission whose messages were given to the run in flight. */
export const joinedResult = ([, run, kwargs, stateBytes, border]: Reply): AdmitResult => ({
  ...{ cancelled: [], ended: [], runs: null },
  run: runOf(run, kwargs),
  repeated: false,
  isUnderWay: true,
  // No run was admitted.
  isFollowed: false,
  headId: null,
  stateBytes: Number(stateBytes),
  joinedAfter: Number(border),
});

/** The error for messages that cannot join a run; undefined for another outcome. */
export function refusedSteering([outcome, used]: Reply, details: Details, settings: StoreSettings): Error | undefined {
  switch (outcome) {
    case 'nothing_runs':
      return new ConflictError('no run of the thread is in flight that a message could join', { details });
    case 'other_shape':
      return new ConflictError(
        'multitask_strategy steer: the run in flight does not continue from this checkpoint; choose another strategy',
        { details },
      );
    case 'many_waiting':
      return tooManyWaiting(settings, Number(used), details);
    case 'large_waiting':
      return tooLargeWaiting(settings, Number(used), details);
    default:
      return undefined;
  }
}

const tooManyWaiting = ({ maxSteering: limit }: StoreSettings, used: number, details: Details): QuotaError =>
  new QuotaError(
    `${used} messages wait to join the thread's run, and with these more than the limit of ${limit}: send them when it has taken those`,
    { quota: 'steering', limit, used },
    { details },
  );

const tooLargeWaiting = ({ maxSteeringBytes: limit }: StoreSettings, used: number, details: Details): QuotaError =>
  new QuotaError(
    `messages of ${used} bytes wait to join the thread's run, and with these more than the limit of ${limit}`,
    { quota: 'steering-bytes', limit, used },
    { details },
  );
