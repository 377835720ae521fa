import type { Tone } from '../../../components/badge.js';
import type { ApiKey, createKey } from './api.js';

const DAY_MS = 86_400_000;

/** When a key ends, as the form offers it: after so many days, at the end of a chosen day, or never. */
export type Expiry = '30' | '90' | '365' | 'date' | 'never';

/** What a person has entered about a new key. */
export interface KeyDraft {
  readonly name: string;
  /** Empty: the person. */
  readonly user: string;
  readonly role: 'user' | 'administrator';
  readonly expiry: Expiry;
  /** The last day of the key in the person's time zone, `2026-03-14`; used with the expiry `date`. */
  readonly date: string;
}

export const emptyDraft: KeyDraft = { name: '', user: '', role: 'user', expiry: '90', date: '' };

export type KeyFault = 'name' | 'user' | 'date';

const USER_ID = /^[A-Za-z0-9][\w-]{0,63}$/;

/** The fields that have to be changed before the key can be created. */
export function faultsOf({ name, user, expiry, date }: KeyDraft, nowMs: number): readonly KeyFault[] {
  const faults: KeyFault[] = [];
  if (name.trim() === '') faults.push('name');
  if (user.trim() !== '' && !USER_ID.test(user.trim())) faults.push('user');
  if (expiry === 'date' && !(endOfDay(date) > nowMs)) faults.push('date');
  return faults;
}

type KeyRequest = NonNullable<Parameters<typeof createKey>[0]['body']>;

/** The body of the request for a draft without faults. */
export function toKeyRequest({ name, user, role, expiry, date }: KeyDraft, nowMs: number): KeyRequest {
  const endMs = expiry === 'date' ? endOfDay(date) : nowMs + Number(expiry) * DAY_MS;
  return {
    name: name.trim(),
    role,
    ...(user.trim() === '' ? {} : { user_id: user.trim() }),
    expires_at: expiry === 'never' ? null : new Date(endMs).toISOString(),
  };
}

/** The last moment of a day in the person's time zone; NaN when it is no day. */
const endOfDay = (date: string): number => new Date(`${date}T23:59:59.999`).getTime();

export const toneOf = ({ status }: Pick<ApiKey, 'status'>): Tone =>
  (({ active: 'good', expired: 'warn', revoked: 'neutral' }) as const)[status];

/** How a key is named in questions about it. */
export const titleOf = ({ name, label }: Pick<ApiKey, 'name' | 'label'>): string => name ?? label;

/** Whether the key can be rotated and revoked here: not one of the configuration, nor one that has ended. */
export const isChangeable = ({ source, status }: Pick<ApiKey, 'source' | 'status'>): boolean =>
  source === 'created' && status !== 'revoked';
