/** Sentinels, which say which server of a group is the primary, and how to sign in to that one. */
export interface SentinelAddress {
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  /** The name of the group, as the configuration of the Sentinels has it. */
  readonly name: string;
  /** Of Redis, not of the Sentinels. */
  readonly user?: string;
  readonly password?: string;
  readonly db: number;
  /** Whether Sentinels and Redis are reached by TLS. */
  readonly isTls: boolean;
}

const DEFAULT_PORT = 26_379;
const MAX_SENTINELS = 16;
const PARTS = /^(rediss?)\+sentinel:\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^/?#]*)(?:\/(\d{1,4}))?)?$/;
const HOST_AND_PORT = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?::(\d{1,5}))?$/;
const GROUP_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Whether the address names Sentinels. */
export const isSentinelUrl = (url: string): boolean => /^rediss?\+sentinel:/.test(url);

/**
 * Reads `redis+sentinel://user:password@host:port,host:port/name`, with `rediss+sentinel:` for TLS and `/number` behind the name for a
 * database. The answer is the address, or what is wrong with it, which never contains a part of it.
 */
export function parseSentinelUrl(url: string): SentinelAddress | { readonly fault: string } {
  const [, scheme, login = '', hosts = '', name = '', db = '0'] = PARTS.exec(url) ?? [];
  if (scheme === undefined)
    return { fault: 'must be redis+sentinel://user:password@host:port,host:port/name, with rediss for TLS' };
  const sentinels = hosts.split(',').map(readHost);
  const known = sentinels.filter((one) => one !== undefined);
  if (known.length < sentinels.length)
    return { fault: 'each Sentinel must be a host or host:port, with commas between them' };
  if (known.length > MAX_SENTINELS) return { fault: `must name at most ${MAX_SENTINELS} Sentinels` };
  if (!GROUP_NAME.test(name))
    return { fault: 'must end with / and the name of the group that the Sentinels watch, such as /mymaster' };
  const credentials = readLogin(login);
  if (credentials === undefined) return { fault: 'user and password must be encoded as in a URL' };
  return { sentinels: known, name, ...credentials, db: Number(db), isTls: scheme === 'rediss' };
}

function readHost(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, host, port = String(DEFAULT_PORT)] = HOST_AND_PORT.exec(text.trim()) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

/** As in the address of one server: a single part without a colon is a user. */
function readLogin(login: string): Pick<SentinelAddress, 'user' | 'password'> | undefined {
  const at = login.indexOf(':');
  const [user, password] = at < 0 ? [login, ''] : [login.slice(0, at), login.slice(at + 1)];
  try {
    return {
      ...(user === '' ? {} : { user: decodeURIComponent(user) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    };
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return undefined;
  }
}
