import type { AnthropicConfig } from '@caribou/config';
import { InvalidRequestError } from '@caribou/contracts';

const levels = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
type Level = (typeof levels)[number];

/** Names of the least effort at other providers. */
const LEAST: ReadonlySet<unknown> = new Set(['minimal', 'none']);

/**
 * The level of `output_config.effort`: the wanted one, or the next lower one that the model accepts, and at most `high` while
 * thinking is off (page "Effort", platform.claude.com, November 2026).
 *
 * @param wanted undefined or null: the provider's default
 * @throws {InvalidRequestError} for a level that does not exist
 */
export function effortOf(wanted: unknown, { effort: accepted }: AnthropicConfig, isOff: boolean): Level | undefined {
  if (wanted === undefined || wanted === null || accepted.length === 0) return undefined;
  const level = LEAST.has(wanted) ? 'low' : levels.find((known) => known === wanted);
  if (level === undefined)
    throw new InvalidRequestError(`reasoning_effort: must be one of minimal, ${levels.join(', ')}`, {
      details: { field: 'reasoning_effort' },
    });
  const highest = levels.indexOf(isOff && levels.indexOf(level) > 2 ? 'high' : level);
  return levels.slice(0, highest + 1).findLast((known) => accepted.includes(known)) ?? accepted[0];
}
