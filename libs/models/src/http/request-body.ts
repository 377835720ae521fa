import { isRecord } from '@caribou/contracts';
import { memoize, memoizeRecent, memoizeRecentLists } from '@caribou/core';

/** From this number of UTF-16 units on the text of a prompt is encoded once. */
const MIN_PROMPT_UNITS = 1_024;

/** JSON that is encoded already, or not yet. */
type Piece = Buffer | string;

/**
 * Encodes a request as JSON. Tools and prompts are most of it and the same in nearly all requests, so each is encoded once; messages and
 * tools follow the other fields.
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

/** The system prompt is the first message, and what a thread is shown besides its conversation mostly is the second (to-provider.ts). */
const PROMPTS = 2;

function encodeMessages(messages: unknown): Piece[] {
  if (!Array.isArray(messages)) return [JSON.stringify(messages)];
  const list: readonly unknown[] = messages;
  const prompts = list.slice(0, PROMPTS).flatMap((message) => [...encodeMessage(message), ',']);
  const others = JSON.stringify(list.slice(PROMPTS)).slice(1);
  return list.length <= PROMPTS ? ['[', ...prompts.slice(0, -1), ']'] : ['[', ...prompts, others];
}

function encodeMessage(message: unknown): Piece[] {
  const { content, ...fields } = isRecord(message) ? message : {};
  if (typeof content !== 'string' || content.length < MIN_PROMPT_UNITS) return [JSON.stringify(message)];
  return [`${JSON.stringify(fields).slice(0, -1)},"content":`, encodePrompt(content), '}'];
}

const encodePrompt = memoizeRecent((text) => Buffer.from(JSON.stringify(text)));

const encodeTools = (tools: unknown): Piece[] =>
  Array.isArray(tools) && tools.every(isRecord) ? [encodeList(tools)] : [JSON.stringify(tools)];

type Tool = Readonly<Record<string, unknown>>;

/** Most requests of a process have one of few lists, and other lists consist of the same tools. */
const encodeList = memoizeRecentLists((tools: readonly Tool[]) => {
  const separated = tools.flatMap((tool) => [COMMA, encodeTool(tool)]);
  return Buffer.concat([Buffer.from('['), ...separated.slice(1), Buffer.from(']')]);
});

const COMMA = Buffer.from(',');
const encodeTool = memoize((tool: Tool) => Buffer.from(JSON.stringify(tool)));
