import { AppError, TooLargeError, UnavailableError } from '@caribou/contracts';
import { ErrorCode, NatsError } from 'nats';

/** JetStream's codes in `api_error.err_code`, named as in the server's errors.json. */
export const jetStreamCodes = {
  consumerNotFound: 10014,
  messageNotFound: 10037,
  messageNotDeleted: 10057,
  streamNotFound: 10059,
  storeFailed: 10077,
} as const;

/** Returns the JetStream error number of a refusal, or undefined. */
export const jetStreamCode = (error: unknown): number | undefined =>
  error instanceof NatsError ? error.api_error?.err_code : undefined;

/**
 * The server's text under `storeFailed` when the subject already has its one message; the number alone also means a
 * full stream.
 */
const ONE_PER_SUBJECT = 'maximum messages per subject exceeded';

/** Whether a message was refused because its subject has one already. */
export const isOnePerSubject = (error: unknown): boolean =>
  error instanceof NatsError &&
  error.api_error?.err_code === jetStreamCodes.storeFailed &&
  error.api_error.description === ONE_PER_SUBJECT;

/** Whether nobody listens on the subject; for JetStream this means that the stream does not exist. */
export const isNoResponders = (error: unknown): boolean =>
  error instanceof NatsError && error.code === ErrorCode.NoResponders.toString();

/** Converts a failed operation on NATS to the error that other libs see; `doing` completes "NATS: cannot …". */
export function natsFailure(doing: string, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  if (cause instanceof NatsError && cause.code === ErrorCode.MaxPayloadExceeded.toString()) {
    return new TooLargeError(`cannot ${doing}: it is over the message limit of the NATS server`, { cause });
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new UnavailableError(`NATS: cannot ${doing} (${reason})`, { cause, details: { dependency: 'nats' } });
}
