import { type AiMessage, type Content, isRecord } from '@caribou/contracts';

/** A block of a message's content in LangChain's standard form. */
export type Block = Readonly<Record<string, unknown>> & { readonly type: string };

/** Types that are passed on as they are. */
const standardTypes: ReadonlySet<string> = new Set(['image', 'audio', 'video', 'file', 'non_standard']);

export const textBlock = (text: string): Block => ({ type: 'text', text });
export const reasoningBlock = (reasoning: string): Block => ({ type: 'reasoning', reasoning });

/** The content of a message as blocks; empty texts are left out. */
export function contentBlocks(content: Content): Block[] {
  const parts = typeof content === 'string' ? [content] : content;
  return parts.flatMap((part): Block[] => {
    if (typeof part === 'string') return part === '' ? [] : [textBlock(part)];
    return [standardBlock(part)];
  });
}

function standardBlock(block: Block): Block {
  if (block.type === 'text') return { ...block, text: typeof block['text'] === 'string' ? block['text'] : '' };
  if (block.type === 'reasoning' || standardTypes.has(block.type)) return block;
  if (block.type === 'image_url') return imageBlock(block) ?? { type: 'non_standard', value: block };
  return { type: 'non_standard', value: block };
}

/** An image of OpenAI's form, by URL or with its data. */
function imageBlock({ image_url: image }: Block): Block | undefined {
  const url = isRecord(image) ? image['url'] : image;
  if (typeof url !== 'string') return undefined;
  const data = /^data:([\w.+/-]+);base64,/.exec(url);
  if (data === null) return { type: 'image', url };
  return { type: 'image', mime_type: data[1], base64: url.slice(data[0].length) };
}

/** The calls of an answer as blocks. */
export const callBlocks = ({ tool_calls: calls, invalid_tool_calls: invalid }: AiMessage): Block[] => [
  ...calls.map(({ id, name, args }) => ({ type: 'tool_call', id, name, args })),
  ...invalid.map(({ id, name, args, error }) => ({ type: 'invalid_tool_call', id, name, args, error })),
];

/** The reasoning of an answer; '' when there is none. */
export function reasoningOf({ additional_kwargs: { reasoning_content: reasoning } }: AiMessage): string {
  return typeof reasoning === 'string' ? reasoning : '';
}
