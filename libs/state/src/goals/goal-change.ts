import { type GoalChange, type GoalState, newId } from '@caribou/contracts';
import { parseStored } from '../redis/stored-json.js';

interface StoredChange {
  /** Unique, so that a change is not taken for an earlier one to the same goal. */
  readonly id: string;
  readonly goal: GoalState | null;
}

/** The text that `goals/goal-change.lua` stores. */
export const goalChangeText = (goal: GoalState | null): string =>
  JSON.stringify({ id: newId(), goal } satisfies StoredChange);

/** Decodes the stored change, which is absent for none. @throws {BugError} for text that is not JSON */
export function parseGoalChange(text: unknown): { readonly goalChange?: GoalChange } {
  if (typeof text !== 'string') return {};
  return { goalChange: { text, goal: parseStored<StoredChange>(text).goal } };
}
