import { NotFoundError, UnavailableError } from '@caribou/contracts';

/** Why a stored object cannot be used; `details.reason` of the error. */
export type Damage = 'missing' | 'cut' | 'altered' | 'too_large' | 'unknown_version';

const texts: Readonly<Record<Damage, string>> = {
  missing: 'is missing',
  cut: 'is shorter than it was stored',
  altered: 'is not as it was stored',
  too_large: 'is larger than any that is written',
  unknown_version: 'has a format that this version does not know',
};

export const damaged = (what: string, key: string, reason: Damage, cause?: unknown): UnavailableError =>
  new UnavailableError(`${what} in the object store ${texts[reason]}: ${key}`, {
    details: { dependency: 'object_store', reason, key },
    retryable: false,
    ...(cause === undefined ? {} : { cause }),
  });

/** The result of the work; an object that is not there is damage. @throws {UnavailableError} */
export async function unlessMissing<T>(what: string, key: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotFoundError) throw damaged(what, key, 'missing', error);
    throw error;
  }
}
