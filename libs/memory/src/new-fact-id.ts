import { randomBytes } from 'node:crypto';

/** An id that is not taken: `fact_` and 8 hex digits, as DeerFlow writes it. */
export function newFactId(taken: ReadonlySet<string>): string {
  for (;;) {
    const id = `fact_${randomBytes(4).toString('hex')}`;
    if (!taken.has(id)) return id;
  }
}
