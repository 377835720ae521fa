import { stripReasoning } from '@caribou/core';

const MAX_QUESTION_CHARS = 500;

/**
 * The questions in a model's answer, at most `count`. They are its outermost array; text around it is ignored, and an
 * answer without an array has none.
 */
export function readSuggestions(answer: string, count: number): string[] {
  const text = stripReasoning(answer);
  const from = text.indexOf('[');
  const to = text.lastIndexOf(']');
  if (from < 0 || to < from) return [];
  const list = parseJson(text.slice(from, to + 1));
  if (!Array.isArray(list)) return [];
  return list
    .filter((item): item is string => typeof item === 'string')
    .map((item) => item.replace(/\s+/g, ' ').trim().slice(0, MAX_QUESTION_CHARS))
    .filter((item) => item !== '')
    .slice(0, count);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
