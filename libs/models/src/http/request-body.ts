import { isRecord } from '@caribou/contracts';
import { memoize, memoizeRecent } from '@caribou/core';

/** From this number of UTF-16 units on a system prompt is encoded once. */
const MIN_PROMPT_UNITS = 1_024;

/** JSON that is encoded already, or not yet. */
type Piece = Buffer | string;

/**
 * Encodes a request as JSON. Tools and the system prompt are most of it and the same in nearly all requests, so each is encoded once;
 * messages and tools follow the other fields.
 */
export function encodeBody(body: object): Buffer {
  const { tools, messages, ...fields }: { readonly tools?: unknown; readonly messages?: unknown } = body;
  const json = JSON.stringify(fields);
  const members: Piece[][] = json === '{}' ? [] : [[json.slice(1, -1)]];
  if (messages !== undefined) members.push(['"messages":', ...encodeMessages(messages)]);
  if (tools !== undefined) members.push(['"tools":', ...encodeTools(tools)]);
  return toBuffer(['{', ...members.flatMap((member, index) => (index === 0 ? member : [',', ...member])), '}']);
}

function toBuffer(pieces: readonly Piece[]): Buffer {
  const buffers: Buffer[] = [];
  let text = '';
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      text += piece;
      continue;
    }
    buffers.push(Buffer.from(text), piece);
    text = '';
  }
  return Buffer.concat([...buffers, Buffer.from(text)]);
}

/** Only the first message is a system prompt (to-provider.ts). */
function encodeMessages(messages: unknown): Piece[] {
  const list: readonly unknown[] = Array.isArray(messages) ? messages : [];
  const [first, ...others] = list;
  const { content, ...fields } = isRecord(first) && first['role'] === 'system' ? first : {};
  if (typeof content !== 'string' || content.length < MIN_PROMPT_UNITS) return [JSON.stringify(messages)];
  const rest = others.length === 0 ? ']' : `,${JSON.stringify(others).slice(1)}`;
  return [`[${JSON.stringify(fields).slice(0, -1)},"content":`, encodePrompt(content), `}${rest}`];
}

const encodePrompt = memoizeRecent((text) => Buffer.from(JSON.stringify(text)));

function encodeTools(tools: unknown): Piece[] {
  if (!Array.isArray(tools)) return [JSON.stringify(tools)];
  return ['[', ...tools.flatMap((tool, index) => (index === 0 ? [encodeTool(tool)] : [',', encodeTool(tool)])), ']'];
}

const encodeTool = (tool: unknown): Piece => (isRecord(tool) ? encodeOnce(tool) : JSON.stringify(tool));

/** The JSON of a tool. */
const encodeOnce = memoize((tool: Readonly<Record<string, unknown>>) => Buffer.from(JSON.stringify(tool)));
