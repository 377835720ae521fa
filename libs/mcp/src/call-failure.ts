import { ForbiddenError } from '@caribou/contracts';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';

/**
 * Whether a failed request had an effect. `refused`: it was not executed; `gone`: it was not executed because the session
 * ended, and a new session may execute it; `answered`: the server reports a failure; `unknown`: it may have been executed.
 */
export type FailureKind = 'refused' | 'gone' | 'answered' | 'unknown';

/** Codes of errors that occur before anything is sent. */
const UNREACHED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

export function failureKind(error: unknown): FailureKind {
  if (error instanceof McpError) return isOwn(error.code) ? 'unknown' : 'answered';
  const status = statusOf(error);
  // A restarted server does not know the session and answers 404 by the protocol, or 400 in practice.
  if (status === 404 || status === 400) return 'gone';
  if (status !== undefined && status > 400 && status < 500) return 'refused';
  if (hasCause(error, (cause) => cause instanceof ForbiddenError)) return 'refused';
  if (hasCause(error, ({ message }) => message === 'Not connected')) return 'gone';
  return hasCause(error, (cause) => UNREACHED.has(codeOf(cause))) ? 'gone' : 'unknown';
}

/** Whether this side creates the code when there is no answer; the same code from a server is treated alike. */
const isOwn = (code: number): boolean => code === ErrorCode.ConnectionClosed || code === ErrorCode.RequestTimeout;

export const isTimeout = (error: unknown): boolean =>
  error instanceof McpError && error.code === ErrorCode.RequestTimeout;

/** HTTP status of a refused POST: a field in errors of the newer transport, part of the text in the older one's. */
function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && typeof error.code === 'number') return error.code;
  const found = 'message' in error && typeof error.message === 'string' ? /\(HTTP (\d{3})\)/.exec(error.message) : null;
  return found === null ? undefined : Number(found[1]);
}

interface Failure {
  readonly message: string;
  readonly code?: unknown;
}

const MAX_CAUSES = 5;

/** Checks the error and its causes. Errors of other realms fail `instanceof`, so their shape is checked. */
function hasCause(error: unknown, fits: (cause: Failure) => boolean): boolean {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && isFailure(cause); depth += 1) {
    if (fits(cause)) return true;
    cause = 'cause' in cause ? cause.cause : undefined;
  }
  return false;
}

const isFailure = (value: unknown): value is Failure =>
  typeof value === 'object' && value !== null && 'message' in value;

const codeOf = ({ code }: Failure): string => (typeof code === 'string' ? code : '');
