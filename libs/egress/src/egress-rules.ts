import { isIP } from 'node:net';
import { InvalidRequestError } from '@caribou/contracts';
import { parseAuthority, type Target } from './host-name.js';

/** One line of an allow-list. */
export interface EgressRule {
  /** `below`: every name that ends in `.host`, not `host` itself. */
  readonly match: 'exact' | 'below';
  /** In its canonical form. */
  readonly host: string;
  /** Absent: 80 and 443. */
  readonly port?: number;
}

const WEB_PORTS = [80, 443];

/**
 * A rule from `host`, `host:port`, `*.suffix` or `*.suffix:port`; the host may be an IP address, IPv6 in brackets.
 *
 * @throws {InvalidRequestError} for anything else
 */
export function parseEgressRule(text: string): EgressRule {
  const below = text.startsWith('*.');
  const parsed = parseAuthority(below ? text.slice(2) : text);
  if (parsed === null || (below && isIP(parsed.host) !== 0)) {
    throw new InvalidRequestError(`"${text}" must be a host or *.suffix, with :port where it is not 80 or 443`);
  }
  return { match: below ? 'below' : 'exact', ...parsed };
}

/** Whether one of the rules names the target. An IP address is named only by itself. */
export function isListed(rules: readonly EgressRule[], { host, port }: Target): boolean {
  const isAddress = isIP(host) !== 0;
  return rules.some((rule) => {
    const portFits = rule.port === undefined ? WEB_PORTS.includes(port) : rule.port === port;
    if (!portFits) return false;
    return rule.match === 'exact' ? rule.host === host : !isAddress && host.endsWith(`.${rule.host}`);
  });
}
