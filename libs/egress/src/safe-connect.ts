import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { DeadlineError, ForbiddenError, UnavailableError } from '@caribou/contracts';
import type { AddressPolicy } from './address-policy.js';
import { formatTarget, type Target } from './host-name.js';

/** The addresses of a name, the best first; rejects when it has none. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** The system's resolver. */
export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

export interface SafeConnectOptions {
  readonly resolve: Resolve;
  readonly isAllowedAddress: AddressPolicy;
  /** For the name, in milliseconds. */
  readonly resolveTimeoutMs: number;
  /** For each address that is tried, in milliseconds. */
  readonly connectTimeoutMs: number;
}

/** Addresses that are tried of one name. */
const MAX_ADDRESSES = 4;

/**
 * A connection to the target. Its name is resolved once, every address of it is checked, and the connection goes to one
 * of those very addresses: a later change of the name does not matter.
 *
 * @throws {ForbiddenError} when one of its addresses is not allowed
 * @throws {UnavailableError} when it has no address or none answers
 * @throws {DeadlineError} when resolver or host take too long
 */
export async function safeConnect(target: Target, options: SafeConnectOptions): Promise<Socket> {
  const addresses = await resolveAllowedAddresses(target, options);
  let failure: unknown;
  for (const address of addresses.slice(0, MAX_ADDRESSES)) {
    try {
      return await openConnection(address, target, options.connectTimeoutMs);
    } catch (error) {
      // The next address may answer; the failure of the last one is thrown.
      failure = error;
    }
  }
  if (failure instanceof DeadlineError) throw failure;
  throw new UnavailableError(`${formatTarget(target)} does not answer`, {
    cause: failure,
    details: { dependency: 'egress' },
  });
}

/**
 * The addresses of the target, each of them allowed.
 *
 * @throws as `safeConnect`
 */
export async function resolveAllowedAddresses(target: Target, options: SafeConnectOptions): Promise<readonly string[]> {
  const addresses = await resolveHost(target, options);
  if (addresses.every((address) => options.isAllowedAddress(address))) return addresses;
  throw new ForbiddenError(`${formatTarget(target)} leads to an address that may not be reached`);
}

async function resolveHost({ host }: Target, options: SafeConnectOptions): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const text = `${host} was not resolved within ${options.resolveTimeoutMs} ms`;
    timer = setTimeout(() => reject(new DeadlineError(text)), options.resolveTimeoutMs);
  });
  const noSuchHost = (cause?: unknown): UnavailableError =>
    new UnavailableError(`${host} cannot be resolved`, { cause, details: { dependency: 'egress' } });
  try {
    const addresses = await Promise.race([options.resolve(host), late]);
    if (addresses.length === 0) throw noSuchHost();
    return addresses;
  } catch (error) {
    if (error instanceof DeadlineError || error instanceof UnavailableError) throw error;
    throw noSuchHost(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves with an open connection; it is the caller's, errors included, from then on. */
async function openConnection(address: string, target: Target, timeoutMs: number): Promise<Socket> {
  const socket = connect({ host: address, port: target.port, allowHalfOpen: true, noDelay: true });
  const timer = setTimeout(() => {
    socket.destroy(new DeadlineError(`${formatTarget(target)} did not answer within ${timeoutMs} ms`));
  }, timeoutMs);
  try {
    await once(socket, 'connect');
    return socket;
  } finally {
    clearTimeout(timer);
  }
}
