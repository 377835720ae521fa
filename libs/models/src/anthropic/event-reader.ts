import { isRecord, omitUndefined } from '@caribou/contracts';
import type { ModelDelta } from '@caribou/core';
import type { AnswerReader, ParsedChunk } from '../http/answer-reader.js';
import { textIn } from '../http/narrow.js';
import { BlockAssembly } from './block-assembly.js';
import { UsageCount } from './usage-count.js';

type Json = Readonly<Record<string, unknown>>;

const NOTHING: ParsedChunk = { kind: 'nothing' };

/**
 * The chain's finish reasons. A paused turn and a full context end an answer before its end, as the limit of output does (page "Handle
 * stop reasons", platform.claude.com, November 2026).
 */
const finishReasons: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  pause_turn: 'length',
  refusal: 'content_filter',
};

/** Parses the events of one answer in order (page "Streaming messages", platform.claude.com, November 2026). Unknown ones are ignored. */
export class EventReader implements AnswerReader {
  readonly #blocks = new BlockAssembly();
  readonly #usage = new UsageCount();
  #stopReason: string | undefined;
  #metadata: Json = {};

  get isFinished(): boolean {
    return this.#stopReason !== undefined;
  }

  read(event: unknown): ParsedChunk {
    if (!isRecord(event)) return { kind: 'malformed' };
    switch (event['type']) {
      case 'content_block_delta':
        return isRecord(event['delta']) ? this.#blocks.append(event['index'], event['delta']) : { kind: 'malformed' };
      case 'content_block_start':
        return isRecord(event['content_block'])
          ? this.#blocks.start(event['index'], event['content_block'])
          : { kind: 'malformed' };
      case 'content_block_stop':
        return this.#blocks.stop(event['index']);
      case 'message_start':
        return this.#start(event['message']);
      case 'message_delta':
        return this.#end(event);
      case 'message_stop':
        return this.isFinished ? { kind: 'end' } : NOTHING;
      case 'error':
        return { kind: 'error', error: event['error'] };
      default:
        return NOTHING;
    }
  }

  last(): ModelDelta {
    const reason = this.#stopReason;
    return {
      ...omitUndefined({
        finishReason: reason === undefined ? undefined : (finishReasons[reason] ?? reason),
        usage: this.#usage.result(),
        extras: this.#blocks.extras(),
      }),
      responseMetadata: this.#metadata,
    };
  }

  #start(message: unknown): ParsedChunk {
    if (!isRecord(message)) return NOTHING;
    this.#usage.add(message['usage']);
    const changes = Array.isArray(message['input_transformations']) ? message['input_transformations'] : [];
    const dropped = changes.filter((change) => isRecord(change) && change['type'] === 'thinking_dropped').length;
    this.#metadata = omitUndefined({
      model_name: textIn(message['model']),
      id: textIn(message['id']),
      thinking_dropped: dropped === 0 ? undefined : dropped,
    });
    return NOTHING;
  }

  #end(event: Json): ParsedChunk {
    this.#usage.add(event['usage']);
    const delta = isRecord(event['delta']) ? event['delta'] : {};
    const reason = textIn(delta['stop_reason']);
    if (reason === undefined) return NOTHING;
    this.#stopReason = reason;
    const details = isRecord(delta['stop_details']) ? delta['stop_details'] : {};
    this.#metadata = {
      ...this.#metadata,
      stop_reason: reason,
      ...omitUndefined({
        stop_sequence: textIn(delta['stop_sequence']),
        refusal_category: textIn(details['category']),
      }),
    };
    return NOTHING;
  }
}
