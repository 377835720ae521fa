import { isRecord } from '@caribou/contracts';
import { z } from 'zod';
import { LogLevel, sections } from '../schema/file-schema.js';
import { ModelFile } from '../schema/model-schema.js';

type Schema = Readonly<Record<string, unknown>>;

const HEAD = `# Caribou's configuration: copy to config.yaml, or name another file in CARIBOU_CONFIG.
# Every value below is the default; a key that is left out keeps it. A file in DeerFlow's format loads as well
# (docs/deerflow-config.md): what has no counterpart here is named in a warning each at the start.
# A string that starts with "$" is read from the environment variable of that name.
`;

const MODELS = `# Models, the first one is the default. Without any, OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL make one.
# Further keys of an entry become fields of the request's body.
# models:
#   - name: my-model
#     model: gpt-4.1-mini
#     api_key: $OPENAI_API_KEY
#     base_url: https://api.openai.com/v1
#     supports_vision: true
#
# Keys of a model:
`;

const TOOLS = `# Tools that can be left out, and tools of your own; without the list agents have all built-in ones (docs/custom-tool.md).
# As soon as it names more than your own, it is complete: only what it names is offered.
# tools:
#   - name: read_file
#   - name: web_search
#     group: web
#   - name: order_status
#     group: shop
#     use: ./order-status.mjs#orderStatus
#     api_key: $SHOP_API_KEY
# tool_groups: [{name: web}, {name: shop}]
`;

/** Generates the text of config.example.yaml: every section with units, ranges and defaults from the schema. */
export function exampleFile(): string {
  const blocks = [HEAD, line('log_level', jsonSchema(LogLevel), ''), modelsBlock(), TOOLS];
  for (const [key, schema] of Object.entries(sections)) {
    const text = block(key, jsonSchema(schema), '');
    blocks.push(WITHOUT_DEFAULT.has(key) ? commented(text) : text);
  }
  return blocks.join('\n');
}

/** Sections that turn something on by being there. */
const WITHOUT_DEFAULT: ReadonlySet<string> = new Set(['files']);

/** A block whose lines behind the first, which says what it is, are comments. */
function commented(text: string): string {
  const [first, ...lines] = text.split('\n');
  return [first, ...lines.map((each) => (each === '' ? each : `# ${each}`))].join('\n');
}

function jsonSchema(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

function propertiesOf(schema: Schema): [string, Schema][] {
  const properties = schema['properties'];
  if (!isRecord(properties)) return [];
  return Object.entries(properties).flatMap(([key, value]): [string, Schema][] =>
    isRecord(value) ? [[key, value]] : [],
  );
}

function block(key: string, schema: Schema, indent: string): string {
  const lines = propertiesOf(schema).map(([name, property]) =>
    'properties' in property ? block(name, property, `${indent}  `) : line(name, property, `${indent}  `),
  );
  return `${indent}# ${text(schema)}\n${indent}${key}:\n${lines.join('')}`;
}

function line(key: string, schema: Schema, indent: string): string {
  const value = 'default' in schema ? `${key}: ${JSON.stringify(schema['default'])}` : `# ${key}:`;
  return `${indent}# ${text(schema)}${rangeOf(schema)}\n${indent}${value}\n`;
}

function modelsBlock(): string {
  return (
    MODELS +
    propertiesOf(jsonSchema(ModelFile))
      .map(([key, schema]) => `#   ${key}: ${text(schema)}\n`)
      .join('')
  );
}

const text = (schema: Schema): string => String(schema['description']);

/** Formats the limits of a number, such as ` (1 to 1000)`, or the choices of an enum; '' for other types. */
function rangeOf({ minimum, maximum, enum: choices }: Schema): string {
  if (Array.isArray(choices)) return ` (${choices.join(', ')})`;
  return typeof minimum === 'number' && typeof maximum === 'number' ? ` (${minimum} to ${maximum})` : '';
}
