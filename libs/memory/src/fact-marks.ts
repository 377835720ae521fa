import { randomBytes } from 'node:crypto';

/** Facts with the same mark say the same: case, spacing and the form of letters do not count. */
export const sameWords = (content: string): string =>
  content.normalize('NFKC').replaceAll(/\s+/g, ' ').trim().toLowerCase();

/** An id that is not taken: `fact_` and 8 hex digits, as DeerFlow writes it. */
export function newFactId(taken: ReadonlySet<string>): string {
  for (;;) {
    const id = `fact_${randomBytes(4).toString('hex')}`;
    if (!taken.has(id)) return id;
  }
}
