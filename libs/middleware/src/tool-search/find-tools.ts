import type { AnyTool } from '@caribou/core';
import { linearPattern } from './linear-pattern.js';

const MAX_FOUND = 5;
/** Longer patterns are searched literally. */
const MAX_PATTERN_CHARS = 100;
/** Maximum characters of a description that are searched. */
const MAX_SEARCHED_CHARS = 1_000;

/**
 * Finds tools by a query: `select:a,b` those with exactly these names, without a limit; `+word rest` those with the
 * word in their name, ranked by matches of the rest; anything else is a case-insensitive regular expression over names
 * and descriptions, names first. Returns at most 5 except for `select:`. A query that is not a regular expression, or
 * cannot be matched in linear time, is searched literally.
 */
export function findTools(query: string, tools: readonly AnyTool[]): readonly AnyTool[] {
  const asked = query.trim();
  if (asked.startsWith('select:')) return selectByName(asked.slice('select:'.length), tools);
  if (asked === '' || asked === '+') return [];
  return asked.startsWith('+') ? withWord(asked.slice(1), tools) : matching(asked, tools);
}

function selectByName(list: string, tools: readonly AnyTool[]): readonly AnyTool[] {
  const names = new Set(list.split(',').map((name) => name.trim()));
  return tools.filter(({ name }) => names.has(name));
}

function withWord(asked: string, tools: readonly AnyTool[]): readonly AnyTool[] {
  const [word = '', ...rest] = asked.toLowerCase().trim().split(/\s+/);
  const named = tools.filter(({ name }) => name.toLowerCase().includes(word));
  const score = (tool: AnyTool): number =>
    rest.reduce((total, part) => total + rank(tool, (text) => text.toLowerCase().includes(part)), 0);
  return best(named.map((tool) => ({ tool, score: score(tool) })));
}

function matching(pattern: string, tools: readonly AnyTool[]): readonly AnyTool[] {
  const literal = pattern.toLowerCase();
  const compiled = pattern.length > MAX_PATTERN_CHARS ? undefined : linearPattern(pattern);
  const fits = compiled ?? ((text: string): boolean => text.toLowerCase().includes(literal));
  return best(tools.map((tool) => ({ tool, score: rank(tool, fits) })).filter(({ score }) => score > 0));
}

/** 2 for a match in the name, 1 for one in the description. */
function rank({ name, description }: AnyTool, fits: (text: string) => boolean): number {
  if (fits(name)) return 2;
  return fits(description.slice(0, MAX_SEARCHED_CHARS)) ? 1 : 0;
}

/** Sorting keeps the order of equals. */
const best = (found: readonly { readonly tool: AnyTool; readonly score: number }[]): readonly AnyTool[] =>
  [...found]
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_FOUND)
    .map(({ tool }) => tool);
