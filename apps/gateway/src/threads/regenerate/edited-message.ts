import { type Content, type HumanMessage, newId } from '@caribou/contracts';

/** A copy of the user message with another text and a new id; files and images are copied unchanged. */
export const replaceMessageText = (message: HumanMessage, text: string): HumanMessage => ({
  ...message,
  id: newId(),
  content: replaceContentText(message.content, text),
});

/** Replaces the first text block and removes the others; blocks without text are copied unchanged. */
export function replaceContentText(content: Content, text: string): Content {
  if (typeof content === 'string') return text;
  const isText = (block: (typeof content)[number]): boolean => typeof block === 'string' || block.type === 'text';
  const first = content.findIndex(isText);
  const replacement = { type: 'text', text };
  if (first < 0) return [replacement, ...content];
  return content.flatMap((block, index) => (index === first ? [replacement] : isText(block) ? [] : [block]));
}
