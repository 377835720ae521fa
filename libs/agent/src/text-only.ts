import type { Message } from '@caribou/contracts';

const OMITTED = '[An image is left out here: the model that answers reads no images.]';

/** The messages with a note in the place of each image, for a fallback that reads no images. */
export const withoutImages = (messages: readonly Message[]): readonly Message[] => messages.map(textOnly);

function textOnly<T extends Message>(message: T): T {
  const { content } = message;
  if (typeof content === 'string' || !content.some(isImage)) return message;
  return { ...message, content: content.map((block) => (isImage(block) ? { type: 'text', text: OMITTED } : block)) };
}

const isImage = (block: string | { readonly type: string }): boolean =>
  typeof block !== 'string' && (block.type === 'image_url' || block.type === 'image');
