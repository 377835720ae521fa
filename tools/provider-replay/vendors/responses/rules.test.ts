import { IssuedExtras } from '../../framework/issued-extras.js';
import { Refusal } from '../../framework/refusal.js';
import { responses } from './vendor.js';

const vendor = responses.open({ extras: new IssuedExtras() });
const hello = { role: 'user', content: 'hi' };
const call = (id: string, args = '{}') => ({ type: 'function_call', call_id: id, name: 'bash', arguments: args });
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'ok' });
const tool = { type: 'function', name: 'bash', parameters: { type: 'object', properties: {} } };
const closed = { type: 'object', properties: { a: {} }, required: ['a'], additionalProperties: false };

const check = (body: object) =>
  vendor.check({
    path: '/v1/responses',
    query: new URLSearchParams(),
    headers: {},
    body: { model: 'gpt-5.6', input: [hello], tools: [tool], store: false, ...body },
  });

type OpenaiError = Record<'message' | 'type', string> & { status: number; param: string | null; code: string | null };

function errorOf(body: object): OpenaiError {
  try {
    check(body);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { error: fields } = error.answer.body as { error: Omit<OpenaiError, 'status'> };
    return { status: error.answer.status, ...fields };
  }
  throw new Error('the request was accepted');
}

describe('requests that the Responses API accepts', () => {
  test.each<[string, object]>([
    ['a text as input', { input: 'hi' }],
    ['parallel calls, answered in any order', { input: [hello, call('a'), call('b'), output('b'), output('a')] }],
    [
      'an output as parts',
      {
        input: [
          hello,
          call('a'),
          { ...output('a'), output: [{ type: 'input_image', image_url: 'data:image/png;base64,aGk=' }] },
        ],
      },
    ],
    [
      'an answer of the assistant',
      { input: [hello, { role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }, hello] },
    ],
    ['a strict tool with a closed schema', { tools: [{ ...tool, strict: true, parameters: closed }] }],
    ['a temperature without reasoning', { reasoning: { effort: 'none' }, temperature: 0 }],
    ['a temperature on a model that does not reason', { model: 'gpt-4.1', temperature: 0 }],
    [
      'files',
      {
        input: [
          {
            role: 'user',
            content: [{ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' }],
          },
        ],
      },
    ],
  ])('%s', (_what, body) => {
    expect(() => check(body)).not.toThrow();
  });
});

describe('rules', () => {
  const rules: [string, object, string, string | null, string | null][] = [
    ['an unknown field', { foo: 1 }, "Unknown parameter: 'foo'.", 'foo', 'unknown_parameter'],
    ['messages', { messages: [] }, "has moved to 'input'", 'messages', 'unsupported_parameter'],
    [
      'response_format',
      { response_format: {} },
      "has moved to 'text.format'",
      'response_format',
      'unsupported_parameter',
    ],
    ['max_tokens', { max_tokens: 100 }, "has moved to 'max_output_tokens'", 'max_tokens', 'unsupported_parameter'],
    [
      'reasoning_effort',
      { reasoning_effort: 'low' },
      "has moved to 'reasoning.effort'",
      'reasoning_effort',
      'unsupported_parameter',
    ],
    [
      'a tool in the shape of chat completions',
      { tools: [{ type: 'function', function: { name: 'x' } }] },
      "Missing required parameter: 'tools[0].name'.",
      'tools[0].name',
      'missing_required_parameter',
    ],
    [
      'a name with a dot',
      { tools: [{ ...tool, name: 'a.b' }] },
      "Invalid 'tools[0].name'",
      'tools[0].name',
      'invalid_value',
    ],
    [
      'too few output tokens',
      { max_output_tokens: 15 },
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 15 instead.",
      'max_output_tokens',
      'integer_below_min_value',
    ],
    [
      'a call_id of 65 characters',
      { input: [hello, call('c'.repeat(65)), output('c')] },
      'string too long',
      'input[1].call_id',
      'string_above_max_length',
    ],
    [
      'an unknown field of an item',
      { input: [{ ...hello, name: 'x' }] },
      "Unknown parameter: 'input[0].name'.",
      'input[0].name',
      'unknown_parameter',
    ],
    [
      'tool_calls on a message',
      { input: [hello, { role: 'assistant', content: 'x', tool_calls: [] }, hello] },
      "Unknown parameter: 'input[1].tool_calls'.",
      'input[1].tool_calls',
      'unknown_parameter',
    ],
    [
      'a text part of chat completions',
      { input: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] },
      'input[0].content',
      'input[0].content[0].type',
      null,
    ],
    [
      'an output part of a user',
      { input: [{ role: 'user', content: [{ type: 'output_text', text: 'x' }] }] },
      'input[0].content',
      'input[0].content[0].type',
      null,
    ],
    ['the role of a tool', { input: [hello, { role: 'tool', content: 'x' }] }, 'input[1].role', 'input[1].role', null],
    [
      'reasoning without an id',
      { input: [hello, { type: 'reasoning', summary: [] }] },
      "Missing required parameter: 'input[1].id'.",
      'input[1].id',
      'missing_required_parameter',
    ],
    [
      'an id of a call as that of a message',
      { input: [hello, { ...call('a'), id: 'call_a' }, output('a')] },
      "Invalid 'input[1].id'",
      'input[1].id',
      'invalid_value',
    ],
    [
      'a call without an output',
      { input: [hello, call('a'), hello] },
      'No tool output found for function call a.',
      'input',
      null,
    ],
    [
      'an output without a call',
      { input: [hello, output('x')] },
      'No tool call found for function call output with call_id x.',
      'input',
      null,
    ],
    ['an output before its call', { input: [hello, output('a'), call('a')] }, 'No tool call found', 'input', null],
    [
      'two outputs of a call',
      { input: [hello, call('a'), output('a'), output('a')] },
      'Duplicate function call output found for call_id a.',
      'input',
      null,
    ],
    [
      'arguments that are not JSON',
      { input: [hello, call('a', '{"x"'), output('a')] },
      'not valid JSON',
      'input',
      null,
    ],
    [
      'one item twice',
      { input: [hello, { ...call('a'), id: 'fc_1' }, output('a'), { ...call('b'), id: 'fc_1' }, output('b')] },
      'Duplicate item found with id fc_1.',
      'input',
      null,
    ],
    [
      'a temperature with reasoning',
      { temperature: 1 },
      "Unsupported parameter: 'temperature' is not supported with this model.",
      'temperature',
      'unsupported_parameter',
    ],
    [
      'top_p with reasoning',
      { top_p: 1 },
      "'top_p' is not supported with this model",
      'top_p',
      'unsupported_parameter',
    ],
    [
      'an effort on a model that does not reason',
      { model: 'gpt-4.1', reasoning: { effort: 'low' } },
      "'reasoning.effort' is not supported",
      'reasoning.effort',
      'unsupported_parameter',
    ],
    [
      'a strict tool with an open schema',
      { tools: [{ ...tool, strict: true }] },
      "In context=(), 'additionalProperties' is required to be supplied and to be false.",
      'tools[0].parameters',
      'invalid_function_parameters',
    ],
    [
      'a strict tool with an optional property',
      { tools: [{ ...tool, strict: true, parameters: { ...closed, required: [] } }] },
      "Missing 'a'.",
      'tools[0].parameters',
      'invalid_function_parameters',
    ],
    [
      'a schema that is no object',
      { tools: [{ ...tool, parameters: { type: 'string' } }] },
      'schema must be a JSON Schema of \'type: "object"\'',
      'tools[0].parameters',
      'invalid_function_parameters',
    ],
    [
      'a choice of an unknown tool',
      { tool_choice: { type: 'function', name: 'x' } },
      "Tool choice 'x' not found",
      'tool_choice',
      null,
    ],
    [
      'stream_options without a stream',
      { stream_options: {} },
      "only allowed when 'stream' is enabled",
      'stream_options',
      null,
    ],
    [
      'an open schema of the text',
      { text: { format: { type: 'json_schema', name: 'n', schema: {}, strict: true } } },
      "'additionalProperties' is required",
      'tools[0].parameters',
      'invalid_function_parameters',
    ],
    [
      'a previous response that was not stored',
      { previous_response_id: 'resp_1' },
      "Previous response with id 'resp_1' not found.",
      'previous_response_id',
      'previous_response_not_found',
    ],
    [
      'encrypted content that was not issued',
      {
        input: [
          hello,
          { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
          call('a'),
          output('a'),
        ],
      },
      'The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
      null,
      'invalid_encrypted_content',
    ],
  ];
  const cases = rules.map(([what, body, message, param, code]) => ({ what, body, message, param, code }));

  test.each(cases)('$what', ({ body, message, param, code }) => {
    const error = errorOf(body);
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param });
    expect(error.message).toContain(message);
    if (code !== null) expect(error.code).toBe(code);
  });

  test.each([
    ['a reference', { type: 'item_reference', id: 'rs_1' }],
    ['reasoning without encrypted content', { type: 'reasoning', id: 'rs_1', summary: [] }],
  ])('%s to what was not stored is not found', (_what, item) => {
    const input = [hello, item, call('a'), output('a')];
    expect(errorOf({ input })).toMatchObject({
      status: 404,
      param: 'input',
      message:
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
    });
    expect(errorOf({ input, store: true }).message).toBe("Item with id 'rs_1' not found.");
  });
});
