import { randomBytes } from 'node:crypto';

/** Generates an unused id in DeerFlow's format: `fact_` and 8 hex digits. */
export function newFactId(taken: ReadonlySet<string>): string {
  for (;;) {
    const id = `fact_${randomBytes(4).toString('hex')}`;
    if (!taken.has(id)) return id;
  }
}
