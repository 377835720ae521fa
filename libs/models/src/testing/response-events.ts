import type {
  Response,
  ResponseFunctionToolCall,
  ResponseOutputMessage,
  ResponseOutputRefusal,
  ResponseOutputText,
  ResponseReasoningItem,
  ResponseStreamEvent,
  ResponseUsage,
} from 'openai/resources/responses/responses';

/**
 * The events of responses as api.openai.com sends them (recorded in October 2026): each under its name, numbered, with
 * padding in the deltas and no `[DONE]` at the end.
 */

export type OutputItem = ResponseReasoningItem | ResponseOutputMessage | ResponseFunctionToolCall;
type Event = ResponseStreamEvent | { readonly type: string; readonly [field: string]: unknown };
type Unnumbered<T> = T extends unknown ? Omit<T, 'sequence_number'> : never;
type Bare = Unnumbered<ResponseStreamEvent>;

export const reasoningItem = (id: string, summary: readonly string[] = []): ResponseReasoningItem => ({
  id,
  type: 'reasoning',
  content: [],
  encrypted_content: `gAAAAAB-${id}`,
  summary: summary.map((text) => ({ type: 'summary_text', text })),
});

export const textContent = (text: string): ResponseOutputText => ({
  type: 'output_text',
  annotations: [],
  logprobs: [],
  text,
});

export const messageItem = (
  id: string,
  content: string | (ResponseOutputText | ResponseOutputRefusal)[],
  phase?: 'commentary' | 'final_answer',
): ResponseOutputMessage => ({
  id,
  type: 'message',
  status: 'completed',
  content: typeof content === 'string' ? [textContent(content)] : content,
  role: 'assistant',
  ...(phase === undefined ? {} : { phase }),
});

export const callItem = (id: string, name: string, args: string): ResponseFunctionToolCall => ({
  id,
  type: 'function_call',
  status: 'completed',
  arguments: args,
  call_id: `call_of_${id}`,
  name,
});

const usage: ResponseUsage = {
  input_tokens: 60,
  input_tokens_details: { cache_write_tokens: 8, cached_tokens: 40 },
  output_tokens: 94,
  output_tokens_details: { reasoning_tokens: 64 },
  total_tokens: 154,
};

/** The fields of a response that are read; the endpoint repeats those of the request as well. */
export const response = (fields: Partial<Response>): Response =>
  ({
    id: 'resp_1',
    object: 'response',
    created_at: 1791189096,
    model: 'm-1-2026-04-16',
    error: null,
    incomplete_details: null,
    output: [],
    store: false,
    ...fields,
  }) as Response;

/** The events of a response with this output, its texts in pieces of `size` characters. */
export function eventsOf(output: readonly OutputItem[], size = 4): Bare[] {
  return [
    { type: 'response.created', response: response({ status: 'in_progress' }) },
    { type: 'response.in_progress', response: response({ status: 'in_progress' }) },
    ...output.flatMap((item, at) => itemEvents(item, at, size)),
    { type: 'response.completed', response: response({ status: 'completed', output: [...output], usage }) },
  ];
}

export function itemEvents(item: OutputItem, at: number, size = 4): Bare[] {
  return [
    { type: 'response.output_item.added', item: begun(item), output_index: at },
    ...innerEvents(item, at, size),
    { type: 'response.output_item.done', item, output_index: at },
  ];
}

const begun = (item: OutputItem): OutputItem => {
  if (item.type === 'reasoning') return { ...item, encrypted_content: 'gAAAAAB-incomplete', summary: [] };
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] };
  return { ...item, status: 'in_progress', arguments: '' };
};

function innerEvents(item: OutputItem, at: number, size: number): Bare[] {
  const place = { item_id: item.id ?? '', output_index: at };
  if (item.type === 'function_call') {
    return [
      ...pieces(item.arguments, size).map(
        (delta): Bare => ({ type: 'response.function_call_arguments.delta', delta, ...place, ...padding }),
      ),
      { type: 'response.function_call_arguments.done', arguments: item.arguments, name: item.name, ...place },
    ];
  }
  if (item.type === 'reasoning') {
    return item.summary.flatMap((part, summary_index): Bare[] => [
      { type: 'response.reasoning_summary_part.added', part: { ...part, text: '' }, summary_index, ...place },
      ...pieces(part.text, size).map(
        (delta): Bare => ({
          type: 'response.reasoning_summary_text.delta',
          delta,
          summary_index,
          ...place,
          ...padding,
        }),
      ),
      { type: 'response.reasoning_summary_text.done', text: part.text, summary_index, ...place },
      { type: 'response.reasoning_summary_part.done', part, summary_index, ...place },
    ]);
  }
  return item.content.flatMap((part, content_index) => contentEvents(part, { content_index, ...place }, size));
}

function contentEvents(
  part: ResponseOutputText | ResponseOutputRefusal,
  place: { content_index: number; item_id: string; output_index: number },
  size: number,
): Bare[] {
  const logprobs: never[] = [];
  const inner =
    part.type === 'output_text'
      ? [
          ...pieces(part.text, size).map(
            (delta): Bare => ({ type: 'response.output_text.delta', delta, logprobs, ...place, ...padding }),
          ),
          { type: 'response.output_text.done' as const, text: part.text, logprobs, ...place },
        ]
      : [
          ...pieces(part.refusal, size).map(
            (delta): Bare => ({ type: 'response.refusal.delta', delta, ...place, ...padding }),
          ),
          { type: 'response.refusal.done' as const, refusal: part.refusal, ...place },
        ];
  return [
    { type: 'response.content_part.added', part: { ...part, ...emptyOf(part) }, ...place },
    ...inner,
    { type: 'response.content_part.done', part, ...place },
  ];
}

const emptyOf = ({ type }: ResponseOutputText | ResponseOutputRefusal) =>
  type === 'output_text' ? { text: '' } : { refusal: '' };

const padding = { obfuscation: 'dpJ0sJwrYpx910' };

const pieces = (text: string, size: number): string[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));

/** The body of an answer with these events. */
export const streamOf = (events: readonly (Bare | Event)[]): string =>
  events
    .map((event, at) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`)
    .join('');
