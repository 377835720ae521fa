import { isIP } from 'node:net';
import { ForbiddenError, InvalidRequestError, UnavailableError } from '@caribou/contracts';
import { Limiter } from '@caribou/core';
import { addressPolicy, type AddressPolicy, isReachableForOperator } from './address-policy.js';
import { type EgressRule, isListed } from './egress-rules.js';
import { canonicalHost, formatTarget, type Target } from './host-name.js';
import { resolveAllowedAddresses, type Resolve, type SafeConnectOptions, systemResolve } from './safe-connect.js';

/** Hosts and addresses that our own processes may reach. */
export interface ReachSettings {
  /**
   * Hosts that the operator named, with the ports they were named for. They may lie in a private network or on this
   * machine, but never at a link-local or metadata address. Others: public addresses, ports 80 and 443.
   */
  readonly open?: readonly EgressRule[];
  /** Default: the system's resolver, two names at a time. */
  readonly resolve?: Resolve;
  /** Addresses of hosts that are not open. Default: public ones that are not this machine's. */
  readonly isPublicAddress?: AddressPolicy;
}

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };
const RESOLVE_TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 10_000;
const isOwnPublic = addressPolicy();
/**
 * Two lookups of the system's resolver at a time. Each takes a thread of the few that Node has for files, compression and
 * the names of models and servers: lookups without an answer, as without the internet, would take them all.
 */
const lookups = new Limiter({
  maxRunning: 2,
  maxWaiting: 256,
  errorWhenFull: () =>
    new UnavailableError('too many names wait to be resolved', { details: { dependency: 'egress' } }),
});
const ownResolve: Resolve = (host) => lookups.run(() => systemResolve(host));

/**
 * Where a URL leads, with the host in its canonical form.
 *
 * @throws {InvalidRequestError} for what is no URL of http or https, or holds a user or password
 * @throws {ForbiddenError} for a port other than 80 and 443 that is not open
 */
export function targetOf(url: URL, { open = [] }: ReachSettings): Target {
  const usual = PORTS[url.protocol];
  if (usual === undefined) throw new InvalidRequestError('the URL must begin with http:// or https://');
  if (url.username !== '' || url.password !== '')
    throw new InvalidRequestError('the URL must not hold a user name or password');
  const host = canonicalHost(url.hostname);
  if (host === null) throw new InvalidRequestError('the URL must name a host');
  const target = { host, port: url.port === '' ? usual : Number(url.port) };
  if (!Object.values(PORTS).includes(target.port) && !isListed(open, target))
    throw new ForbiddenError(`${formatTarget(target)} may not be reached: only ports 80 and 443 are open`);
  return target;
}

/** How a target is connected to. */
export function connectOptions(
  target: Target,
  { open = [], resolve = ownResolve, isPublicAddress = isOwnPublic }: ReachSettings,
): SafeConnectOptions {
  return {
    resolve,
    isAllowedAddress: isListed(open, target) ? isReachableForOperator : isPublicAddress,
    resolveTimeoutMs: RESOLVE_TIMEOUT_MS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  };
}

/**
 * The URL of a text.
 *
 * @throws {InvalidRequestError} when it is not a valid URL
 */
export function parseUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text, base)) throw new InvalidRequestError('the URL is not valid; it must be absolute');
  return new URL(text, base);
}

/**
 * Checks that a URL may be fetched, for those who have another server fetch it: its form, and every address of its host.
 *
 * @throws {InvalidRequestError | ForbiddenError} when it may not
 * @throws {UnavailableError | DeadlineError} when its host has no address, or not in time
 */
export async function checkUrl(url: string, settings: ReachSettings = {}): Promise<void> {
  const target = targetOf(parseUrl(url), settings);
  await resolveAllowedAddresses(target, connectOptions(target, settings));
}

/** Names of this machine, whatever a resolver says (RFC 6761). */
const isLocalName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost');

/**
 * Checks what a URL says by itself, for one that is fetched later; a name may still resolve to an address that is refused.
 *
 * @throws {InvalidRequestError} {ForbiddenError} as `targetOf`, and for an address that may not be reached
 */
export function checkLiteralHost(url: string, settings: ReachSettings = {}): void {
  const target = targetOf(parseUrl(url), settings);
  const { host } = target;
  const isAllowed =
    isIP(host) === 0
      ? !isLocalName(host) || isListed(settings.open ?? [], target)
      : connectOptions(target, settings).isAllowedAddress(host);
  if (!isAllowed) throw new ForbiddenError(`${formatTarget(target)} may not be reached`);
}
