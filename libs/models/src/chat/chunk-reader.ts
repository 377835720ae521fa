import { isRecord, omitUndefined } from '@caribou/contracts';
import type { ModelDelta } from '@caribou/core';
import type { AnswerReader, ParsedChunk } from '../http/answer-reader.js';
import { textIn } from '../http/narrow.js';
import { ToolCallSlots } from './tool-call-slots.js';

type Json = Readonly<Record<string, unknown>>;
type Usage = NonNullable<ModelDelta['usage']>;

const NOTHING: ParsedChunk = { kind: 'nothing' };

/** Parses the chunks of one answer in order; usage and finish reason are part of the last delta. */
export class ChunkReader implements AnswerReader {
  readonly #slots = new ToolCallSlots();
  #finishReason: string | undefined;
  #usage: Usage | undefined;
  #metadata: Json = {};

  /** Whether the answer is complete: only one with a finish reason is. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined;
  }

  read(chunk: unknown): ParsedChunk {
    if (!isRecord(chunk)) return { kind: 'malformed' };
    if (chunk['error'] !== undefined && chunk['error'] !== null) return { kind: 'error', error: chunk['error'] };
    if (isRecord(chunk['usage'])) this.#usage = usageOf(chunk['usage']) ?? this.#usage;
    const choice: unknown = Array.isArray(chunk['choices']) ? chunk['choices'][0] : undefined;
    if (!isRecord(choice)) return NOTHING;
    const reason = textIn(choice['finish_reason']);
    if (reason !== undefined) {
      this.#finishReason = reason;
      this.#metadata = metadataOf(chunk);
    }
    return isRecord(choice['delta']) ? this.#readDelta(choice['delta']) : NOTHING;
  }

  /** Returns the last delta of a finished answer: finish reason, usage, model name and fingerprint. */
  last(): ModelDelta {
    return {
      ...omitUndefined({ finishReason: this.#finishReason, usage: this.#usage }),
      responseMetadata: this.#metadata,
    };
  }

  #readDelta(delta: Json): ParsedChunk {
    const { text, thought } = contentOf(delta['content']);
    const pieces = delta['tool_calls'];
    const calls = Array.isArray(pieces) && pieces.length > 0 ? this.#slots.read(pieces) : [];
    if (calls === undefined) return { kind: 'malformed' };
    const read = {
      ...present('content', text ?? textIn(delta['refusal'])),
      ...present('reasoning', thought ?? textIn(delta['reasoning_content']) ?? textIn(delta['reasoning'])),
      ...(calls.length === 0 ? {} : { toolCallChunks: calls }),
    };
    return Object.keys(read).length === 0 ? NOTHING : { kind: 'delta', delta: read };
  }
}

const present = <K extends string>(key: K, value: string | undefined): { readonly [key in K]?: string } =>
  value === undefined ? {} : ({ [key]: value } as { readonly [key in K]: string });

/** Content is a text; Mistral sends a list of text and thinking blocks. */
function contentOf(content: unknown): { text?: string | undefined; thought?: string | undefined } {
  if (!Array.isArray(content)) return { text: textIn(content) };
  const parts = content.filter(isRecord);
  const join = (values: unknown[]): string | undefined => textIn(values.map((value) => textIn(value) ?? '').join(''));
  const thoughts = parts.flatMap(({ thinking }): unknown[] =>
    Array.isArray(thinking) ? thinking.filter(isRecord).map(({ text }) => text) : [thinking],
  );
  return { text: join(parts.map(({ text }) => text)), thought: join(thoughts) };
}

/** Converts the provider's usage to LangChain's `usage_metadata`; undefined without both counts. */
function usageOf(usage: Json): Usage | undefined {
  const [input, output] = [numberIn(usage['prompt_tokens']), numberIn(usage['completion_tokens'])];
  if (input === undefined || output === undefined) return undefined;
  const prompt = isRecord(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  const completion = isRecord(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {};
  const cacheRead = numberIn(prompt['cached_tokens']) ?? numberIn(usage['prompt_cache_hit_tokens']);
  const reasoning = numberIn(completion['reasoning_tokens']);
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: numberIn(usage['total_tokens']) ?? input + output,
    ...(cacheRead === undefined ? {} : { input_token_details: { cache_read: cacheRead } }),
    ...(reasoning === undefined ? {} : { output_token_details: { reasoning } }),
  };
}

function metadataOf(chunk: Json): Json {
  const [model, fingerprint] = [textIn(chunk['model']), textIn(chunk['system_fingerprint'])];
  return {
    ...omitUndefined({ model_name: model, system_fingerprint: fingerprint }),
  };
}

const numberIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
