import { isRecord } from '@caribou/contracts';

/**
 * Encodes a request as JSON. Tools are most of it and the same in nearly all requests, so each tool is serialized once; they
 * follow the other fields.
 */
export function encodeBody(body: object): Buffer {
  const { tools, ...fields }: { readonly tools?: unknown } = body;
  const json = JSON.stringify(fields);
  if (tools === undefined) return Buffer.from(json);
  const offered = Array.isArray(tools) ? `[${tools.map(toolJson).join(',')}]` : JSON.stringify(tools);
  return Buffer.from(json === '{}' ? `{"tools":${offered}}` : `${json.slice(0, -1)},"tools":${offered}}`);
}

const toolJson = (tool: unknown): string => (isRecord(tool) ? jsonOfTool(tool) : JSON.stringify(tool));

/** Wraps a function of immutable objects, so that it computes the value of each object once. */
export function memoize<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return (key) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = compute(key);
    values.set(key, value);
    return value;
  };
}

const jsonOfTool = memoize((tool: Readonly<Record<string, unknown>>) => JSON.stringify(tool));
