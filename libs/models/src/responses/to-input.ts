import { type Content, type HumanMessage, isRecord, type Message, textOf } from '@caribou/contracts';
import type { ResponseInputContent, ResponseInputImage, ResponseInputItem } from 'openai/resources/responses/responses';
import type { AnswerOrigin } from '../http/endpoint.js';
import { textIn } from '../http/narrow.js';
import { toAnswerItems } from './answer-items.js';
import { CallIds } from './call-ids.js';

/**
 * Converts a conversation to input items. The system prompt is the first item and not `instructions`: both are at the
 * beginning of the prompt, but JSON mode looks for the word JSON in the input alone, and not all servers have
 * `instructions`. Further system messages stay where they are, so that each request begins with the whole one before it.
 */
export function toInput(system: string, messages: readonly Message[], origin: AnswerOrigin): ResponseInputItem[] {
  const callIds = new CallIds();
  return [...systemItem(system), ...messages.flatMap((message) => toItems(message, origin, callIds))];
}

function toItems(message: Message, origin: AnswerOrigin, callIds: CallIds): ResponseInputItem[] {
  switch (message.type) {
    case 'system':
      return systemItem(textOf(message.content));
    case 'human':
      return [fromHuman(message)];
    case 'ai':
      return toAnswerItems(message, origin, callIds);
    case 'tool':
      return [
        {
          type: 'function_call_output',
          call_id: callIds.of(message.tool_call_id),
          output: textOf(message.content),
        },
      ];
  }
}

const systemItem = (content: string): ResponseInputItem[] =>
  content === '' ? [] : [{ type: 'message', role: 'system', content }];

/** Input items have no field for the name of a message. */
const fromHuman = ({ content }: HumanMessage): ResponseInputItem => ({
  type: 'message',
  role: 'user',
  content: contentOf(content),
});

/** Converts content to a text, or to parts when it has images; unknown blocks are dropped. */
function contentOf(content: Content): string | ResponseInputContent[] {
  if (typeof content === 'string') return content;
  const parts = content.flatMap((block): ResponseInputContent[] => {
    if (typeof block === 'string') return [{ type: 'input_text', text: block }];
    if (block.type === 'image_url') return imagePart(block['image_url']);
    const text = textIn(block['text']);
    return block.type === 'text' && text !== undefined ? [{ type: 'input_text', text }] : [];
  });
  return parts.some(({ type }) => type === 'input_image') ? parts : textOf(content);
}

function imagePart(image: unknown): ResponseInputImage[] {
  const url = isRecord(image) ? image['url'] : image;
  if (typeof url !== 'string') return [];
  return [{ type: 'input_image', image_url: url, detail: detailOf(isRecord(image) ? image['detail'] : undefined) }];
}

const details: readonly unknown[] = ['low', 'high', 'original'] satisfies ResponseInputImage['detail'][];

const detailOf = (detail: unknown): ResponseInputImage['detail'] =>
  details.includes(detail) ? (detail as ResponseInputImage['detail']) : 'auto';
