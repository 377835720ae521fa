import { randomBytes } from 'node:crypto';
import type { Delta } from '../../../demo-model/reply.js';
import type { Problem } from '../../framework/problem.js';
import type { AnswerEnd, Renderer, TokenCounts } from '../../framework/vendor.js';
import type { RemovedReasoning } from './checks/reasoning.js';
import { streamError } from './errors.js';
import type { OutputItems, StreamEvent } from './output-items.js';
import type { InputItem, ResponsesRequest } from './shape.js';

const REFUSAL = "I'm sorry, but I can't help with that.";

export interface ResponseOptions {
  readonly responseId: string;
  readonly request: ResponsesRequest;
  readonly output: OutputItems;
  readonly removed: readonly RemovedReasoning[];
  /** Called once, when the answer is complete. */
  onDone(output: readonly InputItem[]): void;
}

interface State {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly usage?: TokenCounts;
  readonly reason?: 'max_output_tokens' | 'content_filter';
  readonly error?: { code: string; message: string };
}

/** Writes a response as the numbered events of the Responses API, each with its name. */
export class ResponsesRenderer implements Renderer {
  readonly headers: Readonly<Record<string, string>>;
  private readonly createdAt = Math.floor(Date.now() / 1000);
  private sequence = 0;
  private refused = false;

  constructor(private readonly options: ResponseOptions) {
    this.headers = { 'x-request-id': `req_${options.responseId}` };
  }

  start(): string[] {
    const response = this.response({ status: 'in_progress' });
    return this.numbered([
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]);
  }

  delta(delta: Delta): string[] {
    const { output } = this.options;
    if ('content' in delta) return this.numbered(output.text(delta.content));
    if ('reasoning_content' in delta) return this.numbered(output.reasoning(delta.reasoning_content));
    return this.numbered(output.call(delta.tool_calls[0]));
  }

  finish(end: AnswerEnd): string[] {
    const { output } = this.options;
    const state = stateOf(end);
    const events = end.reason === 'refusal' ? this.refuse() : [];
    events.push(...output.close(state.status === 'incomplete' ? 'incomplete' : 'completed'));
    this.options.onDone(output.done);
    return this.numbered([...events, { type: `response.${state.status}`, response: this.response(state) }]);
  }

  fail(problem: Problem): string[] {
    if (problem.kind === 'malformed')
      return ['event: response.output_text.delta\ndata: {"type":"response.output_text.del\n\n'];
    const { failed, code, message } = streamError(problem);
    const error = { code, message };
    if (failed)
      return this.numbered([{ type: 'response.failed', response: this.response({ status: 'failed', error }) }]);
    return this.numbered([{ type: 'error', code, message, param: null }]);
  }

  body(end: AnswerEnd): unknown {
    return this.response(stateOf(end));
  }

  private refuse(): StreamEvent[] {
    if (this.refused) return [];
    this.refused = true;
    return this.options.output.refusal(REFUSAL);
  }

  private response({ status, usage, reason, error }: State): object {
    const { responseId, request, output, removed } = this.options;
    return {
      id: `resp_${responseId}`,
      object: 'response',
      created_at: this.createdAt,
      status,
      background: false,
      completed_at: status === 'completed' ? Math.floor(Date.now() / 1000) : null,
      error: error ?? null,
      incomplete_details: reason === undefined ? null : { reason },
      ...echoOf(request),
      output: output.done,
      usage: usage === undefined ? null : usageOf(usage),
      ...(removed.length === 0 ? {} : { input_transformations: removed }),
    };
  }

  /** Deltas carry letters at random, so that their sizes tell nothing of the text, unless the client asked for none. */
  private numbered(events: readonly StreamEvent[]): string[] {
    const obfuscates = this.options.request.stream_options?.include_obfuscation !== false;
    return events.map((event) => {
      const padding =
        obfuscates && event.type.endsWith('.delta') ? { obfuscation: randomBytes(6).toString('base64url') } : {};
      const data = { ...event, sequence_number: this.sequence, ...padding };
      this.sequence += 1;
      return `event: ${event.type}\ndata: ${JSON.stringify(data)}\n\n`;
    });
  }
}

/** The options that a response repeats, with the vendor's defaults. */
const DEFAULTS = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  store: true,
  temperature: 1,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  user: null,
};

function echoOf(request: ResponsesRequest): object {
  const given = Object.entries(request).filter(([key, value]) => key in DEFAULTS && value !== null);
  return { ...DEFAULTS, ...Object.fromEntries(given), model: request.model, service_tier: 'default' };
}

function stateOf({ reason, usage }: AnswerEnd): State {
  if (reason === 'length') return { status: 'incomplete', reason: 'max_output_tokens', usage };
  if (reason === 'content_filter') return { status: 'incomplete', reason: 'content_filter', usage };
  return { status: 'completed', usage };
}

function usageOf({ input, output, reasoning }: TokenCounts): object {
  return {
    input_tokens: input.total,
    input_tokens_details: { cached_tokens: input.cached, cache_write_tokens: input.cacheWritten },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input.total + output,
  };
}
