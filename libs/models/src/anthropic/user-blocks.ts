import { type Content, isRecord, omitUndefined } from '@caribou/contracts';
import { textIn } from '../http/narrow.js';
import {
  type ContentBlock,
  type DocumentBlock,
  type ImageBlock,
  type ImageType,
  imageTypes,
  type TextBlock,
} from './request-types.js';

type Json = Readonly<Record<string, unknown>>;
type MessageBlock = Exclude<Exclude<Content, string>[number], string>;

/**
 * Converts the content of a message of a user or a tool: text, images and documents, in LangChain's, OpenAI's and Anthropic's
 * spelling. Text without a visible character is left out, because the endpoint refuses it, and so are other blocks.
 */
export function toContentBlocks(content: Content): ContentBlock[] {
  if (typeof content === 'string') return textBlocks(content);
  return content.flatMap((block) => (typeof block === 'string' ? textBlocks(block) : toBlocks(block)));
}

export const textBlocks = (text: string): TextBlock[] => (text.trim() === '' ? [] : [{ type: 'text', text }]);

function toBlocks(block: MessageBlock): ContentBlock[] {
  switch (block.type) {
    case 'text':
      return textBlocks(textIn(block['text']) ?? '');
    case 'image_url':
      return imageOf(urlIn(block['image_url']));
    case 'image':
      return imageOf(urlOf(block));
    case 'file':
    case 'document':
      return documentOf(block);
    default:
      return [];
  }
}

const urlIn = (value: unknown): string | undefined => textIn(isRecord(value) ? value['url'] : value);

/** The URL of a block; a data URL when the block contains the data. */
function urlOf(block: Json): string | undefined {
  const source = isRecord(block['source']) ? block['source'] : block;
  const data = textIn(source['data']) ?? textIn(source['base64']);
  const type = textIn(source['media_type']) ?? textIn(source['mime_type']);
  if (data !== undefined && type !== undefined) return `data:${type};base64,${data}`;
  const file = isRecord(block['file']) ? textIn(block['file']['file_data']) : undefined;
  return textIn(source['url']) ?? file;
}

/** Parses a data URL with base64, in time linear in its head: bodies may have megabytes. */
function dataIn(url: string): { readonly type: string; readonly data: string } | undefined {
  const comma = url.indexOf(',');
  const [, type] = /^data:([\w.+/-]+)(?:;[\w=.-]+)*;base64$/i.exec(url.slice(0, Math.max(0, comma))) ?? [];
  return type === undefined ? undefined : { type: type.toLowerCase(), data: url.slice(comma + 1) };
}

function imageOf(url: string | undefined): (ImageBlock | TextBlock)[] {
  if (url === undefined) return [];
  const inline = dataIn(url);
  if (inline === undefined) return /^https?:/i.test(url) ? [{ type: 'image', source: { type: 'url', url } }] : [];
  const type = inline.type === 'image/jpg' ? 'image/jpeg' : inline.type;
  if (!isImageType(type)) return [{ type: 'text', text: `(An image of the type ${type}, which cannot be shown.)` }];
  return [{ type: 'image', source: { type: 'base64', media_type: type, data: inline.data } }];
}

const isImageType = (type: string): type is ImageType => imageTypes.some((known) => known === type);

function documentOf(block: Json): (DocumentBlock | ImageBlock | TextBlock)[] {
  const source = sourceOf(block);
  if (source === undefined) return [];
  if (source.type === 'other') return imageOf(source.url);
  const file = isRecord(block['file']) ? block['file'] : block;
  const title = textIn(block['title']) ?? textIn(file['filename']) ?? textIn(block['name']);
  return [{ type: 'document', source, ...omitUndefined({ title }) }];
}

type Source = DocumentBlock['source'] | { readonly type: 'other'; readonly url: string };

function sourceOf(block: Json): Source | undefined {
  const plain = isRecord(block['source']) ? block['source'] : block;
  const text =
    plain['type'] === 'text' || plain['source_type'] === 'text' ? (plain['data'] ?? plain['text']) : undefined;
  if (typeof text === 'string') {
    return text.trim() === '' ? undefined : { type: 'text', media_type: 'text/plain', data: text };
  }
  const url = urlOf(block);
  if (url === undefined) return undefined;
  const inline = dataIn(url);
  if (inline === undefined) return /^https?:/i.test(url) ? { type: 'url', url } : undefined;
  if (inline.type === 'application/pdf') return { type: 'base64', media_type: 'application/pdf', data: inline.data };
  if (!inline.type.startsWith('text/')) return { type: 'other', url };
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(inline.data, 'base64').toString('utf8') };
}
