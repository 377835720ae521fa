import { type Content, type HumanMessage, newId } from '@caribou/contracts';

/** A person's message with other words under a fresh id; files and images stay with it. */
export const replaceMessageText = (message: HumanMessage, text: string): HumanMessage => ({
  ...message,
  id: newId(),
  content: replaceContentText(message.content, text),
});

/** The text in the place of the first text; what is no text keeps its place. */
function replaceContentText(content: Content, text: string): Content {
  if (typeof content === 'string') return text;
  const isText = (block: (typeof content)[number]): boolean => typeof block === 'string' || block.type === 'text';
  const first = content.findIndex(isText);
  const words = { type: 'text', text };
  if (first < 0) return [words, ...content];
  return content.flatMap((block, place) => (place === first ? [words] : isText(block) ? [] : [block]));
}
