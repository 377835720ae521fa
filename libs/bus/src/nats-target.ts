/** Connection options of the `nats` client, which does not read credentials from an address itself. */
export interface NatsTarget {
  readonly servers: string[];
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
}

/**
 * Splits `nats://user:password@host:4222,nats://other:4222` into servers and the credentials of the first that has
 * some; a user without a password is a token.
 */
export function natsTarget(url: string): NatsTarget {
  const parsed = url.split(',').map((part) => new URL(part.includes('://') ? part.trim() : `nats://${part.trim()}`));
  const servers = parsed.map(({ protocol, host }) => `${protocol}//${host}`);
  const login = parsed.find(({ username }) => username !== '');
  if (login === undefined) return { servers };
  const user = decodeURIComponent(login.username);
  if (login.password === '') return { servers, token: user };
  return { servers, user, pass: decodeURIComponent(login.password) };
}
