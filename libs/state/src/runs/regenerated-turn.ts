import { ConflictError, UserId } from '@caribou/contracts';
import type { AdmitRequest } from '../ports/admission.js';

/** Returns the run whose turn a request regenerates, from the client's metadata; '' when there is none. */
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
