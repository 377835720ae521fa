import { isIPv6 } from 'node:net';

const PREFIX_GROUPS = 4;
const GROUPS = 8;

/** The unit that failed attempts are counted for: an IPv4 address, or the /64 network of an IPv6 address. */
export function clientNetwork(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [front = '', back] = address.replace(/%.*$/, '').split('::');
  const groups = groupsOf(front);
  const rest = back === undefined ? [] : groupsOf(back);
  while (groups.length + rest.length < GROUPS) groups.push('0');
  const prefix = [...groups, ...rest].slice(0, PREFIX_GROUPS);
  return `${prefix.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'));
