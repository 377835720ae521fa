import { randomBytes } from 'node:crypto';
import { type ServiceName, serviceNames } from '@caribou/contracts';

/** The administrator of NATS and Redis, which no service uses. */
export const ADMIN = 'admin';

/** The user of Redis that may only check its health. */
export const HEALTH = 'health';

export type UserName = ServiceName | typeof ADMIN | typeof HEALTH;

const userNames: readonly UserName[] = [...serviceNames, ADMIN, HEALTH];

/** A password for each user. */
export type Passwords = Readonly<Record<UserName, string>>;

const PASSWORD_BYTES = 32;

/** Generates passwords that need no escaping in an address. */
export function newPasswords(): Passwords {
  const entries = userNames.map((name) => [name, randomBytes(PASSWORD_BYTES).toString('hex')]);
  return Object.fromEntries(entries) as Passwords;
}

/** The address of a server with user and password. */
export function addressOf(
  scheme: 'nats' | 'redis',
  server: string,
  login: { user: UserName; password: string },
): string {
  return `${scheme}://${login.user}:${login.password}@${server}`;
}
