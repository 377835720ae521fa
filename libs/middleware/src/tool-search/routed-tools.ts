import type { Message } from '@caribou/contracts';
import { type AnyTool, isUserMessage, userText } from '@caribou/core';

/** Of a message, looked through for keywords. */
const MAX_WORDS_CHARS = 20_000;

/** What the person said last. */
export function latestWords(messages: readonly Message[]): string {
  const message = messages.findLast(isUserMessage);
  return message === undefined ? '' : userText(message).slice(0, MAX_WORDS_CHARS);
}

/** The tools that the words call for by their keywords: by priority, then by keywords met, at most `limit`. */
export function routedTools(words: string, tools: readonly AnyTool[], limit: number): readonly AnyTool[] {
  const said = folded(words);
  const met = (tool: AnyTool): number =>
    (tool.deferred?.keywords ?? []).filter((keyword) => says(said, folded(keyword).trim())).length;
  return tools
    .map((tool) => ({ tool, priority: tool.deferred?.priority ?? 0, hits: met(tool) }))
    .filter(({ hits }) => hits > 0)
    .sort((a, b) => b.priority - a.priority || b.hits - a.hits)
    .slice(0, limit)
    .map(({ tool }) => tool);
}

const folded = (text: string): string => text.normalize('NFKC').toLowerCase();

/** Whether the keyword stands there as a word of its own; scripts without spaces have no such border. */
function says(said: string, keyword: string): boolean {
  if (keyword === '') return false;
  for (let at = said.indexOf(keyword); at >= 0; at = said.indexOf(keyword, at + 1)) {
    const end = at + keyword.length;
    const joined = isJoined(said.charAt(at - 1), keyword.charAt(0)) || isJoined(keyword.slice(-1), said.charAt(end));
    if (!joined) return true;
  }
  return false;
}

const SPACED = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}_]/u;
const isJoined = (before: string, after: string): boolean => SPACED.test(before) && SPACED.test(after);
