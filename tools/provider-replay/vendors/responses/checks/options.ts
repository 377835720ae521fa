import { invalid } from '../errors.js';
import type { ResponsesRequest } from '../shape.js';

/**
 * Checks options against the model and against each other.
 *
 * @throws Refusal in the vendor's words.
 */
export function checkOptions(request: ResponsesRequest): void {
  checkSampling(request);
  checkTools(request);
  if (request.stream_options && request.stream !== true) {
    throw invalid('stream_options', "The 'stream_options' parameter is only allowed when 'stream' is enabled.", {
      param: 'stream_options',
    });
  }
  const format = request.text?.format;
  if (format?.type === 'json_schema' && format.strict === true)
    checkStrict(format.schema, 'response_format', format.name);
}

/** Models that reason: GPT-5 and later, and the o-series. */
export const reasons = (model: string): boolean => /^(gpt-([5-9]|\d\d)|o\d)/.test(model);

function checkSampling({ model, reasoning, temperature, top_p }: ResponsesRequest): void {
  const effort = reasoning?.effort ?? undefined;
  if (!reasons(model)) {
    if (effort === undefined || effort === 'none') return;
    throw invalid(
      'reasoning of the model',
      "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
      {
        param: 'reasoning.effort',
        code: 'unsupported_parameter',
      },
    );
  }
  if (effort === 'none') return;
  for (const [name, value] of Object.entries({ temperature, top_p })) {
    if (value === undefined || value === null) continue;
    throw invalid('sampling of the model', `Unsupported parameter: '${name}' is not supported with this model.`, {
      param: name,
      code: 'unsupported_parameter',
    });
  }
}

function checkTools({ tools = [], tool_choice: choice }: ResponsesRequest): void {
  for (const { name, strict, parameters } of tools) {
    if (strict === true) checkStrict(parameters ?? {}, 'function', name);
    else if (parameters && parameters.type !== 'object') {
      throw invalid(
        'schema of a tool',
        `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"'.`,
        {
          param: 'tools[0].parameters',
          code: 'invalid_function_parameters',
        },
      );
    }
  }
  if (typeof choice !== 'object' || choice.type !== 'function') return;
  if (tools.some(({ name }) => name === choice.name)) return;
  throw invalid('known tool', `Tool choice '${choice.name}' not found in 'tools' parameter.`, { param: 'tool_choice' });
}

/** A strict schema closes its object and requires all of its properties. */
function checkStrict(schema: Record<string, unknown>, kind: 'function' | 'response_format', name: string): void {
  const fields = { param: 'tools[0].parameters', code: 'invalid_function_parameters' };
  const where = `Invalid schema for ${kind} '${name}': In context=(), `;
  if (schema.additionalProperties !== false) {
    throw invalid(
      'strict schema',
      `${where}'additionalProperties' is required to be supplied and to be false.`,
      fields,
    );
  }
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const missing = Object.keys(schema.properties ?? {}).find((key) => !required.has(key));
  if (missing === undefined) return;
  throw invalid(
    'strict schema',
    `${where}'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`,
    fields,
  );
}
