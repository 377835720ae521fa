import { BlockList, isIP, isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { InvalidRequestError } from '@caribou/contracts';

/** Whether a connection may go to an IP address. */
export type AddressPolicy = (address: string) => boolean;

type Family = 'ipv4' | 'ipv6';
const familyOf = (address: string): Family => (isIPv4(address) ? 'ipv4' : 'ipv6');

function ranges(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', prefix] = cidr.split('/');
    list.addSubnet(network, Number(prefix), familyOf(network));
  }
  return list;
}

/** What is not for everyone to reach (IANA's special-purpose registry), multicast, and Azure's host service. */
const SPECIAL_IPV4 = ranges([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'],
]);
/** All of IPv6 that is given out as global unicast. IPv4-mapped, NAT64, unique-local and link-local lie outside. */
const GLOBAL_IPV6 = ranges(['2000::/3']);
/** Teredo, ORCHID and other protocol assignments, documentation, 6to4. */
const SPECIAL_IPV6 = ranges(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

/** Ranges an operator may open: private use, shared address space, unique local. */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'];
const UNIQUE_LOCAL = ranges(['fc00::/7']);
/** Cloud providers' instance metadata in those ranges: never. */
const METADATA = ranges(['100.100.100.200/32', 'fd00:ec2::254/128', 'fd20:ce::254/128', 'fd00:42::42/128']);

/** Whether an address is valid and one of the public Internet: global unicast and of no special purpose. */
export function isGlobalUnicast(address: string): boolean {
  // A zone ("fe80::1%eth0") belongs to link-local addresses.
  if (isIP(address) === 0 || address.includes('%')) return false;
  if (isIPv4(address)) return !SPECIAL_IPV4.check(address, 'ipv4');
  return GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL_IPV6.check(address, 'ipv6');
}

/** IPv4 that no configuration opens: unspecified, link-local with its metadata hosts, multicast, reserved. */
const NOBODYS_IPV4 = ranges(['0.0.0.0/8', '169.254.0.0/16', '168.63.129.16/32', '224.0.0.0/4', '240.0.0.0/4']);

/**
 * Whether an address may be that of a host which the operator named: public ones, private ones and this machine. Never
 * link-local and metadata addresses, whatever the name, nor IPv4 addresses in IPv6 form.
 */
export function isReachableForOperator(address: string): boolean {
  if (isGlobalUnicast(address)) return true;
  if (isIP(address) === 0 || address.includes('%')) return false;
  const family = familyOf(address);
  if (METADATA.check(address, family)) return false;
  if (family === 'ipv4') return !NOBODYS_IPV4.check(address, 'ipv4');
  return address === '::1' || UNIQUE_LOCAL.check(address, 'ipv6');
}

/** The addresses of this machine's own interfaces. */
function ownAddresses(): BlockList {
  const list = new BlockList();
  for (const { address } of Object.values(networkInterfaces()).flatMap((entries) => entries ?? []))
    list.addAddress(address, familyOf(address));
  return list;
}

/**
 * The rule for outbound connections: public addresses, and those of `allowPrivate`; never this machine's own, loopback,
 * link-local or metadata.
 *
 * @throws {InvalidRequestError} for a range that is no CIDR or does not lie in a private one
 */
export function addressPolicy(allowPrivate: readonly string[] = []): AddressPolicy {
  for (const cidr of allowPrivate) requirePrivate(cidr);
  const opened = ranges(allowPrivate);
  return (address) => {
    if (isGlobalUnicast(address)) return !ownAddresses().check(address, familyOf(address));
    if (isIP(address) === 0 || address.includes('%')) return false;
    const family = familyOf(address);
    // BlockList takes ::ffff:10.0.0.1 for 10.0.0.1, which it is not on the wire.
    if (family === 'ipv6' && !UNIQUE_LOCAL.check(address, 'ipv6')) return false;
    return opened.check(address, family) && !METADATA.check(address, family) && !ownAddresses().check(address, family);
  };
}

function requirePrivate(cidr: string): void {
  const [network = '', prefixText = '', ...rest] = cidr.split('/');
  const bits = isIPv4(network) ? 32 : 128;
  const prefix = /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : Number.NaN;
  const isRange = rest.length === 0 && isIP(network) !== 0 && !network.includes('%') && prefix <= bits;
  const lies = PRIVATE.some((range) => isRange && prefix >= Number(range.split('/')[1]) && liesIn(network, range));
  if (!lies) throw new InvalidRequestError(`${cidr} must be a CIDR inside ${PRIVATE.join(', ')}`);
}

const liesIn = (address: string, range: string): boolean =>
  familyOf(address) === familyOf(range.split('/')[0] ?? '') && ranges([range]).check(address, familyOf(address));
