import type { Delta } from '../../../demo-model/reply.js';
import type { Problem } from '../../framework/problem.js';
import type { AnswerEnd, EndReason, Renderer, TokenCounts } from '../../framework/vendor.js';
import { type AnswerBlocks, type StreamEvent } from './answer-blocks.js';
import { newRequestId, streamError } from './errors.js';
import type { CacheUse } from './prompt-cache.js';
import type { RequestBlock } from './shape.js';
import type { DroppedThinking } from './thinking-blocks.js';

const DELTAS_A_PING = 5;

const STOP_OF_END: Readonly<Record<EndReason, string>> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
  refusal: 'refusal',
};

/** The stop reasons that a script can ask for by `#fault stop REASON`. */
export const STOP_REASONS = ['pause_turn', 'model_context_window_exceeded', 'stop_sequence'] as const;

export interface AnswerOptions {
  readonly responseId: string;
  readonly model: string;
  readonly blocks: AnswerBlocks;
  readonly cache: CacheUse;
  /** Absent: the client did not ask for them. */
  readonly transformations: readonly DroppedThinking[] | undefined;
  /** Called once, when the answer is complete. */
  onDone(blocks: readonly RequestBlock[], stopReason: string): void;
}

/** Writes an answer as the events of the Messages API, each with its name. */
export class MessagesRenderer implements Renderer {
  readonly headers = { 'request-id': newRequestId() };
  private deltas = 0;

  constructor(private readonly options: AnswerOptions) {}

  start(): string[] {
    const { cache } = this.options;
    cache.commit();
    const written = cache.written['5m'] + cache.written['1h'];
    const input = { total: cache.total, cached: cache.read, cacheWritten: written };
    const message = this.message(
      [],
      { stop_reason: null, stop_details: null },
      this.usage({ input, output: 1, reasoning: 0 }),
    );
    return [named({ type: 'message_start', message }), named({ type: 'ping' })];
  }

  delta(delta: Delta): string[] {
    const { blocks } = this.options;
    const events = allNamed(this.eventsOf(delta, blocks));
    this.deltas += 1;
    return this.deltas % DELTAS_A_PING === 0 ? [...events, named({ type: 'ping' })] : events;
  }

  finish(end: AnswerEnd): string[] {
    const { blocks } = this.options;
    const last = blocks.close();
    const ending = endingOf(end);
    this.options.onDone(blocks.done, ending.stop_reason);
    const {
      service_tier: _tier,
      inference_geo: _geo,
      cache_creation: _creation,
      speed: _speed,
      ...usage
    } = this.usage(end.usage);
    return allNamed([
      ...last,
      { type: 'message_delta', delta: { ...ending, stop_sequence: null, container: null }, usage },
      { type: 'message_stop' },
    ]);
  }

  fail(problem: Problem): string[] {
    if (problem.kind === 'malformed')
      return ['event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"del\n\n'];
    return [named({ type: 'error', error: streamError(problem), request_id: this.headers['request-id'] })];
  }

  body(end: AnswerEnd): unknown {
    return this.message(this.options.blocks.done.map(asReturned), endingOf(end), this.usage(end.usage));
  }

  private eventsOf(delta: Delta, blocks: AnswerBlocks): StreamEvent[] {
    if ('content' in delta) return blocks.text(delta.content);
    if ('reasoning_content' in delta) return blocks.thinking(delta.reasoning_content);
    return blocks.call(delta.tool_calls[0]);
  }

  private message(content: readonly object[], ending: object, usage: object): object {
    const { responseId, model, transformations } = this.options;
    return {
      id: `msg_${responseId}`,
      type: 'message',
      role: 'assistant',
      model,
      content,
      stop_sequence: null,
      container: null,
      diagnostics: null,
      ...ending,
      usage,
      ...(transformations === undefined ? {} : { input_transformations: transformations }),
    };
  }

  private usage({ input, output, reasoning }: TokenCounts): Record<string, unknown> {
    const { written } = this.options.cache;
    return {
      input_tokens: input.total - input.cached - input.cacheWritten,
      cache_creation_input_tokens: input.cacheWritten,
      cache_read_input_tokens: input.cached,
      cache_creation: { ephemeral_5m_input_tokens: written['5m'], ephemeral_1h_input_tokens: written['1h'] },
      output_tokens: output,
      output_tokens_details: { thinking_tokens: reasoning },
      server_tool_use: null,
      service_tier: 'standard',
      inference_geo: null,
      speed: null,
    };
  }
}

function endingOf({ reason, stopReason: asked }: AnswerEnd): { stop_reason: string; stop_details: object | null } {
  const stopReason = asked ?? STOP_OF_END[reason];
  const details = { type: 'refusal', category: null, explanation: 'The request was declined.' };
  return { stop_reason: stopReason, stop_details: stopReason === 'refusal' ? details : null };
}

/** A finished block with the fields that the vendor returns besides those it takes. */
function asReturned(block: RequestBlock): object {
  if (block.type === 'text') return { ...block, citations: null };
  return block.type === 'tool_use' ? { ...block, caller: { type: 'direct' } } : block;
}

const named = (event: StreamEvent): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const allNamed = (events: readonly StreamEvent[]): string[] => events.map(named);
