import { RE2JS, RE2JSException } from 're2js';

/** Instructions of a compiled pattern: together with the length of a text they bound the time of a search. */
const MAX_INSTRUCTIONS = 256;

/**
 * Compiles a regular expression that is matched case-insensitively, in time proportional to text and pattern (RE2).
 *
 * @returns a function that says whether the pattern matches anywhere in a text; undefined when the source is not a regular
 *   expression, needs backtracking (back references, lookarounds), or is too large
 */
export function linearPattern(source: string): ((text: string) => boolean) | undefined {
  const compiled = compile(source);
  if (compiled === undefined || compiled.programSize() > MAX_INSTRUCTIONS) return undefined;
  return (text) => compiled.test(text);
}

function compile(source: string): RE2JS | undefined {
  try {
    return RE2JS.compile(source, RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    if (error instanceof RE2JSException) return undefined;
    throw error;
  }
}
