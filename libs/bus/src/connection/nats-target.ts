import type { NatsLogin, NatsSecurity, TlsMaterial } from '@caribou/contracts';
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { type Authenticator, credsAuthenticator, nkeyAuthenticator } from 'nats';

/** Options of `tls.connect`, to which the client library passes them. */
interface NatsTls extends TlsMaterial {
  readonly checkServerIdentity: typeof checkServerIdentity;
}

/** Connection options of the `nats` client, which does not read credentials from an address itself. */
export interface NatsTarget {
  readonly servers: string[];
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  readonly authenticator?: Authenticator;
  /** When present, a server without TLS is refused. */
  readonly tls?: NatsTls;
}

/**
 * Splits `nats://user:password@host:4222,nats://other:4222` into servers and the credentials of the first that has
 * some; a user without a password is a token. A login by nkey or JWT replaces them. TLS is required when one of the
 * addresses begins with `tls:` or there are certificates for it, because the client library ignores the scheme.
 */
export function natsTarget(url: string, { tls, login }: NatsSecurity = {}): NatsTarget {
  const parsed = url.split(',').map((part) => new URL(part.includes('://') ? part.trim() : `nats://${part.trim()}`));
  const secure = tls !== undefined || parsed.some(({ protocol }) => protocol === 'tls:');
  return {
    servers: parsed.map(({ protocol, host }) => `${protocol}//${host}`),
    ...(login === undefined ? loginOf(parsed) : { authenticator: authenticatorOf(login) }),
    ...(secure ? { tls: { ...tls, checkServerIdentity: identityCheck(parsed.map(hostOf)) } } : {}),
  };
}

function loginOf(addresses: readonly URL[]): Pick<NatsTarget, 'user' | 'pass' | 'token'> {
  const login = addresses.find(({ username }) => username !== '');
  if (login === undefined) return {};
  const user = decodeURIComponent(login.username);
  return login.password === '' ? { token: user } : { user, pass: decodeURIComponent(login.password) };
}

function authenticatorOf(login: NatsLogin): Authenticator {
  const bytes = (text: string) => new TextEncoder().encode(text);
  return login.kind === 'nkey' ? nkeyAuthenticator(bytes(login.seed)) : credsAuthenticator(bytes(login.content));
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/**
 * The client library passes no host name to TLS when the address is an IP address, and Node then compares the
 * certificate with `localhost`. The certificate must be valid for one of the configured IP addresses instead.
 */
function identityCheck(hosts: readonly string[]): typeof checkServerIdentity {
  const addresses = hosts.filter((host) => isIP(host) !== 0);
  return (host, certificate) => {
    if (host !== 'localhost' || hosts.includes('localhost') || addresses.length === 0)
      return checkServerIdentity(host, certificate);
    const refusals = addresses.map((address) => checkServerIdentity(address, certificate));
    return refusals.includes(undefined) ? undefined : refusals[0];
  };
}
