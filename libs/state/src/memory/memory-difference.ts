import { HISTORY_SECTIONS, type MemoryDocument, USER_SECTIONS } from '@caribou/contracts';
import type { MemoryDifference } from '@caribou/core';

/** Computes what one document has and another had not, so that a change can be shown and reverted. */
export function differenceOf(before: MemoryDocument, after: MemoryDocument): MemoryDifference {
  const old = new Map(before.facts.map((fact) => [fact.id, fact]));
  const remaining = new Set(after.facts.map(({ id }) => id));
  return {
    added: after.facts.filter(({ id }) => !old.has(id)),
    removed: before.facts.filter(({ id }) => !remaining.has(id)),
    changed: after.facts.flatMap((fact) => {
      const was = old.get(fact.id);
      return was === undefined || JSON.stringify(was) === JSON.stringify(fact) ? [] : [was];
    }),
    sections: Object.fromEntries([
      ...USER_SECTIONS.flatMap((name) => diffSummary(name, before.user[name], after.user[name])),
      ...HISTORY_SECTIONS.flatMap((name) => diffSummary(name, before.history[name], after.history[name])),
    ]),
  };
}

const diffSummary = (
  name: string,
  before: { readonly summary: string },
  after: { readonly summary: string },
): [string, string][] => (before.summary === after.summary ? [] : [[name, before.summary]]);
