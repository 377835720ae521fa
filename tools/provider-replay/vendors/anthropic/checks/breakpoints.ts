import { invalid } from '../errors.js';
import type { PromptBlock } from '../prompt.js';

const MAX_BREAKPOINTS = 4;

/**
 * Checks the marks of the cache: how many, where, and that a longer life does not come after a shorter one.
 *
 * @throws Refusal in the vendor's words.
 */
export function checkBreakpoints(blocks: readonly PromptBlock[]): void {
  const marks = blocks.flatMap(({ marks: own }) => own);
  for (const { path, onEmptyText } of marks) {
    if (onEmptyText)
      throw invalid('cache mark on empty text', `${path}: cache_control cannot be set for empty text blocks`);
  }
  if (marks.length > MAX_BREAKPOINTS) {
    throw invalid(
      'number of cache marks',
      `A maximum of ${MAX_BREAKPOINTS} blocks with cache_control may be provided. Found ${marks.length}.`,
    );
  }
  const long = marks.findLastIndex(({ ttl }) => ttl === '1h');
  if (marks.slice(0, Math.max(long, 0)).some(({ ttl }) => ttl === '5m')) {
    throw invalid(
      'order of lifetimes',
      `${marks[long]?.path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block`,
    );
  }
}
