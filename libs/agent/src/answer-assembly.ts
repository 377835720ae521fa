import {
  type AiMessage,
  type InvalidToolCall,
  isRecord,
  ModelError,
  newToolCallId,
  type RunEventOf,
  type ToolCall,
  type ToolCallChunk,
  type UsageMetadata,
  omitUndefined,
} from '@caribou/contracts';
import type { ModelDelta, ModelPort } from '@caribou/core';
import { ExtrasAssembly } from './extras-assembly.js';

type Delta = RunEventOf<'message.delta'>;

interface CallInProgress {
  readonly id: string;
  name: string;
  args: string;
}

/** The message to which the deltas of an answer belong. */
export interface AnswerSource {
  readonly messageId: string;
  readonly node: string;
  readonly step: number;
  /** The name in the provider's answer takes precedence over the model's own. */
  readonly model: Pick<ModelPort, 'name' | 'endpoint' | 'dialect'>;
}

/**
 * Assembles an answer while it is streamed: converts the provider's deltas and collects their content. The text and the
 * argument pieces of the returned deltas, joined, equal the final message. Tool-call ids are created here, at the first
 * piece of each call, because providers repeat theirs; the provider's extras refer to them.
 */
export class AnswerAssembly {
  private content = '';
  private reasoning = '';
  private readonly calls = new Map<number, CallInProgress>();
  private usage: UsageMetadata | undefined;
  private finishReason: string | undefined;
  private metadata: Record<string, unknown> = {};
  private readonly extras = new ExtrasAssembly();

  constructor(private readonly source: AnswerSource) {}

  /** Adds a delta of the provider; returns the delta to publish, or undefined when it contains nothing to show yet. */
  add(delta: ModelDelta): Delta | undefined {
    this.addFacts(delta);
    const content = delta.content ?? '';
    const reasoning = delta.reasoning ?? '';
    const chunks = (delta.toolCallChunks ?? []).map((chunk) => this.addChunk(chunk));
    this.content += content;
    this.reasoning += reasoning;
    if (reasoning === '' && chunks.length === 0) return content === '' ? undefined : this.textDelta(content);
    return {
      ...this.textDelta(content),
      ...(reasoning === '' ? {} : { reasoning }),
      ...(chunks.length === 0 ? {} : { tool_call_chunks: chunks }),
    };
  }

  /**
   * The last delta, which alone has usage and finish reason, as clients add up the usage of all deltas.
   *
   * @throws {ModelError} retryable, when the stream ended without a finish reason: the answer was cut
   */
  lastDelta(): Delta {
    return {
      ...this.textDelta(''),
      response_metadata: this.responseMetadata(),
      ...omitUndefined({ usage: this.usage }),
    };
  }

  /** Returns the whole message. @throws {ModelError} like `lastDelta` */
  message(): AiMessage {
    const { valid, invalid } = parseCalls([...this.calls.values()]);
    return {
      type: 'ai',
      id: this.source.messageId,
      content: this.content,
      additional_kwargs: this.reasoning === '' ? {} : { reasoning_content: this.reasoning },
      response_metadata: this.responseMetadata(),
      tool_calls: valid,
      invalid_tool_calls: invalid,
      ...omitUndefined({
        usage_metadata: this.usage,
        provider_extras: this.extras.result(this.source.model, (index) => this.calls.get(index)?.id),
      }),
    };
  }

  /** Adds usage, finish reason, metadata and extras of the provider. */
  private addFacts({ usage, finishReason, responseMetadata, extras }: ModelDelta): void {
    this.usage = usage ?? this.usage;
    this.finishReason = finishReason ?? this.finishReason;
    if (responseMetadata !== undefined) this.metadata = { ...this.metadata, ...responseMetadata };
    if (extras !== undefined) this.extras.add(extras);
  }

  private textDelta(content: string): Delta {
    const { node, step, messageId } = this.source;
    return { kind: 'message.delta', node, step, message_id: messageId, content };
  }

  private responseMetadata(): Record<string, unknown> {
    if (this.finishReason === undefined) {
      const details = { reason: 'stream_cut' };
      throw new ModelError('the model stream ended without a finish reason', { retryable: true, details });
    }
    return { model_name: this.source.model.name, ...this.metadata, finish_reason: this.finishReason };
  }

  private addChunk(chunk: ToolCallChunk): ToolCallChunk {
    const known = this.calls.get(chunk.index);
    const call = known ?? { id: newToolCallId(), name: '', args: '' };
    if (known === undefined) this.calls.set(chunk.index, call);
    const name = call.name === '' && chunk.name !== null && chunk.name !== '' ? chunk.name : null;
    call.name ||= name ?? '';
    call.args += chunk.args;
    return {
      name,
      args: chunk.args,
      id: known === undefined ? call.id : null,
      index: chunk.index,
      type: 'tool_call_chunk',
    };
  }
}

interface ParsedCalls {
  readonly valid: ToolCall[];
  readonly invalid: InvalidToolCall[];
}

/** A call whose arguments are not a JSON object is invalid; missing arguments are the empty object. */
function parseCalls(calls: readonly CallInProgress[]): ParsedCalls {
  const parsed: ParsedCalls = { valid: [], invalid: [] };
  for (const { id, name, args } of calls) {
    const result = parseArguments(args);
    if ('error' in result) parsed.invalid.push({ name, args, id, error: result.error, type: 'invalid_tool_call' });
    else parsed.valid.push({ name, args: result.args, id, type: 'tool_call' });
  }
  return parsed;
}

function parseArguments(text: string): { readonly args: Record<string, unknown> } | { readonly error: string } {
  if (text.trim() === '') return { args: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return { args: value };
    return { error: 'The arguments are JSON, but not an object.' };
  } catch (error) {
    if (error instanceof SyntaxError) return { error: `The arguments are not valid JSON: ${error.message}.` };
    throw error;
  }
}
