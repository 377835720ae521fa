import { UnavailableError } from '@caribou/contracts';
import Docker from 'dockerode';
import { withoutHostPaths } from '../drivers/host-paths.js';

/** The engine answers within this time or counts as away, in milliseconds. */
export const ENGINE_TIMEOUT_MS = 20_000;

/** Gives the engine at a socket. Its package is loaded then, a sixth of the start of a manager, and most managers have another driver. */
export function engineAt(socketPath: string | undefined): () => Docker {
  let engine: Docker | undefined;
  return () => (engine ??= socketPath === undefined ? new Docker() : new Docker({ socketPath }));
}

/** The HTTP status of the engine's refusal, or undefined for any other failure. */
export function engineStatus(error: unknown): number | undefined {
  return typeof error === 'object' && error !== null && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined;
}

/** The engine's own error text, which may name its socket and directories. */
export const engineMessage = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);

export const toEngineUnavailable = (error: unknown): UnavailableError =>
  new UnavailableError(`the docker engine: ${withoutHostPaths(engineMessage(error))}`, {
    cause: error,
    details: { dependency: 'docker' },
  });

/** The answer of a call, or UnavailableError after `timeoutMs`; the call itself may still take place. */
export async function withinTime<T>(call: Promise<T>, timeoutMs = ENGINE_TIMEOUT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(toEngineUnavailable(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The answer of a call, `null` when the engine refuses it with one of `statuses`; any other failure is UnavailableError. */
export async function unlessStatus<T>(
  call: Promise<T>,
  statuses: readonly number[],
  timeoutMs = ENGINE_TIMEOUT_MS,
): Promise<T | null> {
  try {
    return await withinTime(call, timeoutMs);
  } catch (error) {
    if (statuses.includes(engineStatus(error) ?? 0)) return null;
    if (error instanceof UnavailableError) throw error;
    throw toEngineUnavailable(error);
  }
}
