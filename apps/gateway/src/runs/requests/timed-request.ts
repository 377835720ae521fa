import { AppError, InvalidRequestError, type RunCreate } from '@caribou/contracts';
import type { AdmitRequest } from '@caribou/state';
import type { GatewaySettings } from '../../settings.js';

/**
 * What a request says about the time of its run and the announcement of its end.
 *
 * @throws {InvalidRequestError} for a time beyond the limit, or a webhook that may not be reached, naming the field
 */
export function timedFieldsOf(
  body: Pick<RunCreate, 'webhook' | 'after_seconds' | 'command'>,
  { maxAfterSeconds, checkWebhook }: GatewaySettings['timedRuns'],
): Pick<AdmitRequest, 'webhook' | 'delayMs'> {
  const delay = delayOf(body, maxAfterSeconds);
  const { webhook } = body;
  if (webhook === undefined || webhook === null || webhook === '') return delay;
  try {
    checkWebhook(webhook);
  } catch (error) {
    if (!(error instanceof AppError) || !error.expected) throw error;
    throw new InvalidRequestError(`webhook: ${error.message}`, { details: { field: 'webhook' }, cause: error });
  }
  return { ...delay, webhook };
}

function delayOf(
  { after_seconds: seconds, command }: Pick<RunCreate, 'after_seconds' | 'command'>,
  maxSeconds: number,
): Pick<AdmitRequest, 'delayMs'> {
  if (seconds === undefined || seconds === null || seconds === 0) return {};
  const fault = (text: string): InvalidRequestError =>
    new InvalidRequestError(`after_seconds: ${text}`, { details: { field: 'after_seconds' } });
  if (seconds > maxSeconds) throw fault(`must be at most ${maxSeconds} (quotas.max_after_seconds)`);
  if (command !== undefined && command !== null) throw fault('is not possible with command, which answers at once');
  return { delayMs: Math.ceil(seconds * 1_000) };
}
