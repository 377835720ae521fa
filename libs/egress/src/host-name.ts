import { isIPv4, isIPv6 } from 'node:net';

/** Characters that would make a URL parser see something other than a host: user, port, path, escapes, white space. */
const FORBIDDEN = /[\u0000-\u0020"#%/:<>?@[\\\]^`{|}\u007f]/;
/** Underscores are no part of host names (RFC 952), but of names in use. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const MAX_TEXT = 1024;
const MAX_NAME = 253;

/**
 * The canonical form of a host, or null for an invalid one: lower case, IDN in its ASCII form, no trailing dot; an IPv4
 * address in any spelling that resolvers take (`0x7f.1`, `2130706433`, `127.1`, full-width digits) as a dotted quad; an
 * IPv6 address, which must be in brackets, compressed and without them. Hosts are compared in this form only.
 */
export function canonicalHost(text: string): string | null {
  if (text.length > MAX_TEXT) return null;
  if (text.startsWith('[')) return canonicalIPv6(text);
  if (text === '' || FORBIDDEN.test(text)) return null;
  const url = `http://${text}/`;
  if (!URL.canParse(url)) return null;
  const host = new URL(url).hostname.replace(/\.$/, '');
  if (isIPv4(host)) return host;
  return host.length <= MAX_NAME && host.split('.').every((label) => LABEL.test(label)) ? host : null;
}

function canonicalIPv6(bracketed: string): string | null {
  const inner = /^\[([0-9a-fA-F:.]+)\]$/.exec(bracketed)?.[1];
  return inner !== undefined && isIPv6(inner) ? new URL(`http://[${inner}]/`).hostname.slice(1, -1) : null;
}

/** A host in its canonical form, and a port. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/** `host` or `host:port` with the host in its canonical form, or null when either is not valid. */
export function parseAuthority(text: string): { readonly host: string; readonly port?: number } | null {
  const [, hostText, portText] = /^(\[[^\]]*\]|[^:[\]]*)(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const host = hostText === undefined ? null : canonicalHost(hostText);
  if (host === null) return null;
  if (portText === undefined) return { host };
  const port = Number(portText);
  return port >= 1 && port <= 65_535 ? { host, port } : null;
}

/** `host:port` for people and for Host headers. */
export const formatTarget = ({ host, port }: Target): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`;
