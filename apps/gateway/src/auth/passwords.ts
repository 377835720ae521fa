import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { BugError, RateLimitedError } from '@caribou/contracts';
import { Limiter } from '@caribou/core';

export interface Cost {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
}

/**
 * scrypt with N = 2^15, r = 8, p = 3: one of the equivalent settings in OWASP's Password Storage Cheat Sheet. One hash
 * takes a third of a second of one processor and 32 MiB.
 */
const COST: Cost = { logN: 15, r: 8, p: 3 };
const SALT_BYTES = 16;
const KEY_BYTES = 32;
/** Concurrent hashes. Each occupies one of the four threads that Node also uses for files and DNS lookups. */
const AT_ONCE = 2;
const MAX_WAITING = 32;

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt);

export interface Passwords {
  /** Creates a record of the password: parameters, a random salt, and the derived key. */
  hash(password: string): Promise<string>;
  /** Whether the record was made from this password. Returns false without a record, after the same time. */
  matches(password: string, record: string | undefined): Promise<boolean>;
}

/** Hashes passwords with scrypt. Both methods throw RateLimitedError when too many calls wait. */
export function scryptPasswords({ atOnce = AT_ONCE, maxWaiting = MAX_WAITING, cost: own = COST } = {}): Passwords {
  const derivations = new Limiter({
    maxRunning: atOnce,
    maxWaiting,
    errorWhenFull: () => new RateLimitedError('too many people sign in at once'),
  });
  const keyOf = (password: string, { logN, r, p }: Cost, salt: Buffer): Promise<Buffer> =>
    // Keyboards may send the same letter as one or as two code points.
    derivations.run(() =>
      derive(password.normalize('NFKC'), salt, KEY_BYTES, { N: 2 ** logN, r, p, maxmem: 256 * r * 2 ** logN }),
    );
  const nobody = recordOf(own, randomBytes(SALT_BYTES), randomBytes(KEY_BYTES));
  return {
    hash: async (password) => {
      const salt = randomBytes(SALT_BYTES);
      return recordOf(own, salt, await keyOf(password, own, salt));
    },
    matches: async (password, record) => {
      const { cost, salt, key } = parseRecord(record ?? nobody);
      return timingSafeEqual(key, await keyOf(password, cost, salt)) && record !== undefined;
    },
  };
}

const recordOf = ({ logN, r, p }: Cost, salt: Buffer, key: Buffer): string =>
  `scrypt$${logN}$${r}$${p}$${salt.toString('base64url')}$${key.toString('base64url')}`;

const RECORD = /^scrypt\$(1[0-9]|20)\$(\d{1,2})\$(\d{1,2})\$([\w-]{22})\$([\w-]{43})$/;

function parseRecord(record: string) {
  const [, logN, r, p, salt = '', key = ''] = RECORD.exec(record) ?? [];
  if (logN === undefined) throw new BugError('malformed password hash');
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  return { cost, salt: Buffer.from(salt, 'base64url'), key: Buffer.from(key, 'base64url') };
}
