import { defuseFrameworkTags } from '@caribou/core';
import { textOf } from '@caribou/contracts';
import { z } from 'zod';

/** A tool as its server describes it, within bounds and fit for a model's request. */
export interface ListedTool {
  /** The server's own name. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The server says that it changes nothing, so it may be called again. */
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
  /** What was left out, and why: a line each. */
  readonly leftOut: readonly string[];
}

/** The tools of a list that can be offered; one that cannot leaves the others. Of two with one name the first counts. */
export function listedTools(list: readonly unknown[]): Listing {
  const tools = new Map<string, ListedTool>();
  const leftOut: string[] = [];
  for (const [index, entry] of list.entries()) {
    const parsed = Described.safeParse(entry);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      leftOut.push(
        `tool ${index + 1}: ${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`,
      );
      continue;
    }
    const tool = described(parsed.data);
    if (tool === undefined) leftOut.push(`${parsed.data.name}: its schema is over ${MAX_SCHEMA_CHARS} characters`);
    else if (tools.has(tool.name)) leftOut.push(`${tool.name}: there is another tool of this name`);
    else tools.set(tool.name, tool);
  }
  return { tools: [...tools.values()], leftOut };
}

/** Strangers wrote the description and the schema, and both stand in the model's request: framework tags are defused. */
function described({
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
