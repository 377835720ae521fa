import { defuseFrameworkTags } from '@caribou/core';
import { textOf } from '@caribou/contracts';
import { z } from 'zod';

/** A tool from a server's list, validated for use in a model request. */
export interface ListedTool {
  /** The server's own name. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The server declares that it changes nothing, so calls may be repeated. */
  readonly readOnly: boolean;
}

const MAX_NAME_CHARS = 200;
const MAX_DESCRIPTION_CHARS = 4_096;
const MAX_SCHEMA_CHARS = 32_768;

const Described = z.object({
  name: z.string().min(1).max(MAX_NAME_CHARS),
  description: z.string().optional(),
  inputSchema: z.looseObject({ type: z.literal('object') }),
  annotations: z.looseObject({ readOnlyHint: z.boolean().optional() }).optional(),
});

export interface Listing {
  readonly tools: readonly ListedTool[];
  /** Tools that cannot be offered, one line each with the reason. */
  readonly skipped: readonly string[];
}

/** Parses a list of tools and skips invalid ones; of several with one name the first is used. */
export function parseTools(list: readonly unknown[]): Listing {
  const tools = new Map<string, ListedTool>();
  const skipped: string[] = [];
  for (const [index, entry] of list.entries()) {
    const parsed = Described.safeParse(entry);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      skipped.push(
        `tool ${index + 1}: ${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`,
      );
      continue;
    }
    const tool = toListedTool(parsed.data);
    if (tool === undefined) skipped.push(`${parsed.data.name}: its schema is closed ${MAX_SCHEMA_CHARS} characters`);
    else if (tools.has(tool.name)) skipped.push(`${tool.name}: there is another tool of this name`);
    else tools.set(tool.name, tool);
  }
  return { tools: [...tools.values()], skipped };
}

/** Defuses framework tags in description and schema, which are untrusted and become part of the model request. */
function toListedTool({
  name,
  description = '',
  inputSchema,
  annotations,
}: z.output<typeof Described>): ListedTool | undefined {
  const schema = JSON.stringify({ ...inputSchema, properties: inputSchema['properties'] ?? {} });
  if (schema.length > MAX_SCHEMA_CHARS) return undefined;
  return {
    name,
    description: plain(description.slice(0, MAX_DESCRIPTION_CHARS)),
    parameters: z.record(z.string(), z.unknown()).parse(JSON.parse(plain(schema))),
    readOnly: annotations?.readOnlyHint === true,
  };
}

const plain = (text: string): string => textOf(defuseFrameworkTags(text));
