import { AppError } from '@caribou/contracts';
import { endReasonOf } from './execution.js';

const ENDED_BY_MANAGER =
  'this was ended because its sandbox-manager stopped or lost the sandbox; it may have had effects';
const ENDED_BY_ADMINISTRATOR = 'an administrator ended the sandbox while this ran; it may have had effects';

/**
 * Why the outcome of a job that was aborted is unknown; undefined when its result is valid: of a cancel, or because an administrator
 * ended the sandbox after the job.
 *
 * @param isCut whether it was aborted while it ran
 */
export function unknownReason(signal: AbortSignal, isCut: boolean): string | undefined {
  if (!signal.aborted) return undefined;
  const by = endReasonOf(signal);
  if (by === 'cancel') return undefined;
  if (by !== 'administrator') return ENDED_BY_MANAGER;
  return isCut ? ENDED_BY_ADMINISTRATOR : undefined;
}

/** Why the outcome of a job that failed is unknown, as its caller reads it. */
export const failureReason = (error: unknown): string =>
  error instanceof AppError && error.expected ? error.message : 'the sandbox failed while this ran';
