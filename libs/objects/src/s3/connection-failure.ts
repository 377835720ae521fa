import { errnoOf } from '@caribou/core';
import { StoreFailure } from '../common/store-failure.js';

const ENDPOINT = 'check endpoint in files.store.s3';

/** The failure of a connection, whose requests can be sent again unless the operator has to change something. */
export function connectionFailure(cause: unknown): StoreFailure {
  const code = errnoOf(cause) ?? '';
  const message = cause instanceof Error ? cause.message : String(cause);
  if (code.startsWith('ERR_TLS') || code.includes('CERT') || code.includes('SIGNATURE') || code === 'EPROTO')
    return new StoreFailure('unreachable', `its certificate or TLS is not accepted (${code}): ${ENDPOINT}`, { cause });
  const text = hints[code] ?? `the connection broke (${code === '' ? message : code})`;
  return new StoreFailure('unreachable', text, { cause, isRepeated: true });
}

const hints: Readonly<Record<string, string>> = {
  ENOTFOUND: `its host name is not known: ${ENDPOINT}`,
  EAI_AGAIN: 'its host name cannot be looked up now',
  ECONNREFUSED: `nothing listens there: ${ENDPOINT}`,
  EHOSTUNREACH: `its host cannot be reached: ${ENDPOINT}`,
  ENETUNREACH: `its network cannot be reached: ${ENDPOINT}`,
};
