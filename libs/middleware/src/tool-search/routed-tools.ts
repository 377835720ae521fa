import type { Message } from '@caribou/contracts';
import { type AnyTool, isUserMessage, userText } from '@caribou/core';

/** Maximum characters of a message that are searched for keywords. */
const MAX_SEARCHED_CHARS = 20_000;

/** The text of the user's last message. */
export function latestUserText(messages: readonly Message[]): string {
  const message = messages.findLast(isUserMessage);
  return message === undefined ? '' : userText(message).slice(0, MAX_SEARCHED_CHARS);
}

/** The tools whose keywords are in the text, at most `limit`: by priority, then by the number of matching keywords. */
export function matchToolsByKeywords(text: string, tools: readonly AnyTool[], limit: number): readonly AnyTool[] {
  const searched = foldCase(text);
  const met = (tool: AnyTool): number =>
    (tool.deferred?.keywords ?? []).filter((keyword) => containsWord(searched, foldCase(keyword).trim())).length;
  return tools
    .map((tool) => ({ tool, priority: tool.deferred?.priority ?? 0, hits: met(tool) }))
    .filter(({ hits }) => hits > 0)
    .sort((a, b) => b.priority - a.priority || b.hits - a.hits)
    .slice(0, limit)
    .map(({ tool }) => tool);
}

const foldCase = (text: string): string => text.normalize('NFKC').toLowerCase();

/** Whether the text contains the keyword as a separate word; scripts without spaces have no word borders. */
function containsWord(text: string, keyword: string): boolean {
  if (keyword === '') return false;
  for (let at = text.indexOf(keyword); at >= 0; at = text.indexOf(keyword, at + 1)) {
    const end = at + keyword.length;
    const joined = isJoined(text.charAt(at - 1), keyword.charAt(0)) || isJoined(keyword.slice(-1), text.charAt(end));
    if (!joined) return true;
  }
  return false;
}

const SPACED = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}_]/u;
const isJoined = (before: string, after: string): boolean => SPACED.test(before) && SPACED.test(after);
