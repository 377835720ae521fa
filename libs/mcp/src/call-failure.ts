import { ForbiddenError } from '@caribou/contracts';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';

/**
 * What a failed request says of its effect. `refused`: it was never carried out; `gone`: neither, as the session is over
 * and a new one may do it; `answered`: the server says that it failed; `unknown`: it may have been carried out.
 */
export type FailureKind = 'refused' | 'gone' | 'answered' | 'unknown';

/** Before anything was sent. */
const UNREACHED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

export function failureKind(error: unknown): FailureKind {
  if (error instanceof McpError) return isOwn(error.code) ? 'unknown' : 'answered';
  const status = statusOf(error);
  // A server that restarted does not know the session: 404 by the protocol, 400 in use.
  if (status === 404 || status === 400) return 'gone';
  if (status !== undefined && status > 400 && status < 500) return 'refused';
  if (hasCause(error, (cause) => cause instanceof ForbiddenError)) return 'refused';
  if (hasCause(error, ({ message }) => message === 'Not connected')) return 'gone';
  return hasCause(error, (cause) => UNREACHED.has(codeOf(cause))) ? 'gone' : 'unknown';
}

/** Codes that this side gives when no answer came; what a server sends under them says no more. */
const isOwn = (code: number): boolean => code === ErrorCode.ConnectionClosed || code === ErrorCode.RequestTimeout;

export const isTimeout = (error: unknown): boolean =>
  error instanceof McpError && error.code === ErrorCode.RequestTimeout;

/** Of a refused POST: in a field of the newer transport's error, in the text of the older one's. */
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

/** Looks at the error and at what it was caused by; errors of other realms are none by `instanceof`. */
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
