import { isRecord } from '@caribou/contracts';
import { memoize } from '@caribou/core';

const END = Buffer.from(']}');

/**
 * Encodes a request as JSON. Tools are most of it and the same in nearly all requests, so each tool is encoded once; they
 * follow the other fields.
 */
export function encodeBody(body: object): Buffer {
  const { tools, ...fields }: { readonly tools?: unknown } = body;
  const json = JSON.stringify(fields);
  if (tools === undefined) return Buffer.from(json);
  const start = json === '{}' ? '{"tools":' : `${json.slice(0, -1)},"tools":`;
  if (!Array.isArray(tools)) return Buffer.from(`${start}${JSON.stringify(tools)}}`);
  const [first = NOTHING, ...others] = tools.map(encodeTool);
  return Buffer.concat([Buffer.from(`${start}[`), first.subarray(1), ...others, END]);
}

const NOTHING = Buffer.alloc(0);

/** The JSON of a tool after a comma. */
const encodeTool = (tool: unknown): Buffer => (isRecord(tool) ? encodeOnce(tool) : withComma(tool));

const withComma = (tool: unknown): Buffer => Buffer.from(`,${JSON.stringify(tool)}`);

const encodeOnce = memoize((tool: Readonly<Record<string, unknown>>) => withComma(tool));
