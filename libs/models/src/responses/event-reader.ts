import { isRecord, omitUndefined } from '@caribou/contracts';
import type { ModelDelta } from '@caribou/core';
import type { AnswerReader, ParsedChunk } from '../http/answer-reader.js';
import { textIn } from '../http/narrow.js';
import { AnswerText, type TextKind } from './answer-text.js';
import { toCallExtras } from './call-extras.js';
import { toReasoningPart } from './answer-items.js';
import { incompleteReason, metadataOf, usageOf } from './finished-response.js';
import { FunctionCalls } from './function-calls.js';
import { ReasoningText } from './reasoning-text.js';

type Json = Readonly<Record<string, unknown>>;

const NOTHING: ParsedChunk = { kind: 'nothing' };
const MALFORMED: ParsedChunk = { kind: 'malformed' };

/**
 * Reads the events of one response (OpenAI API reference, "Streaming events" of Responses, November 2026). Reasoning is taken
 * from `response.output_item.done`, as its encrypted content is incomplete before. Unknown events are ignored.
 *
 * `extras.parts` are the items of the output in order; `extras.message.parts` is their number, and is missing when they are
 * not all there or cannot be told apart in the text.
 */
export class EventReader implements AnswerReader {
  readonly #text = new AnswerText();
  readonly #reasoning = new ReasoningText();
  readonly #calls = new FunctionCalls();
  #lastItem = -1;
  #items = 0;
  #parts = 0;
  #isInOrder = true;
  #end: { readonly finishReason: string; readonly isWhole: boolean; readonly response: Json } | undefined;

  get isFinished(): boolean {
    return this.#end !== undefined;
  }

  read(event: unknown): ParsedChunk {
    if (!isRecord(event)) return MALFORMED;
    switch (event['type']) {
      case 'response.output_text.delta':
        return this.#readText(event, 'output_text');
      case 'response.refusal.delta':
        return this.#readText(event, 'refusal');
      case 'response.function_call_arguments.delta':
        return this.#passCalls(this.#calls.add(positionOf(event), textIn(event['delta']) ?? ''));
      case 'response.reasoning_summary_text.delta':
        return this.#readReasoning(event, event['summary_index']);
      case 'response.reasoning_text.delta':
        return this.#readReasoning(event, event['content_index']);
      default:
        return this.#readState(event);
    }
  }

  last(): ModelDelta {
    if (this.#end === undefined) return {};
    const { finishReason, isWhole, response } = this.#end;
    return {
      finishReason,
      ...omitUndefined({ usage: usageOf(response['usage']) }),
      responseMetadata: metadataOf(response),
      ...(isWhole && this.#parts > 0 ? { extras: { message: { parts: this.#parts } } } : {}),
    };
  }

  /** Reads an event that is no piece of text or arguments. */
  #readState(event: Json): ParsedChunk {
    switch (event['type']) {
      case 'response.output_item.added':
        return this.#readBegunItem(event);
      case 'response.output_item.done':
        return this.#readItem(event);
      case 'response.completed':
      case 'response.incomplete':
        return this.#finish(event);
      case 'response.failed':
        return { kind: 'error', error: errorOf(event['response']) };
      case 'error':
        return { kind: 'error', error: errorOf(event) };
      default:
        return NOTHING;
    }
  }

  #readText(event: Json, kind: TextKind): ParsedChunk {
    const text = textIn(event['delta']);
    if (text === undefined) return NOTHING;
    const content = indexIn(event['content_index']);
    return { kind: 'delta', delta: { content: this.#text.add({ item: positionOf(event), content, kind, text }) } };
  }

  #readReasoning(event: Json, part: unknown): ParsedChunk {
    const text = textIn(event['delta']);
    if (text === undefined) return NOTHING;
    return { kind: 'delta', delta: { reasoning: this.#reasoning.add(positionOf(event), indexIn(part), text) } };
  }

  #readBegunItem(event: Json): ParsedChunk {
    const item = event['item'];
    if (!isRecord(item) || item['type'] !== 'function_call') return NOTHING;
    return this.#passCalls(this.#calls.begin(positionOf(event), item));
  }

  #passCalls(toolCallChunks: NonNullable<ModelDelta['toolCallChunks']>): ParsedChunk {
    if (this.#calls.isTooMany) return MALFORMED;
    return toolCallChunks.length === 0 ? NOTHING : { kind: 'delta', delta: { toolCallChunks } };
  }

  /** Reads a complete item: its extras, and what a server that sends no pieces has not sent before. */
  #readItem(event: Json): ParsedChunk {
    const item = event['item'];
    if (!isRecord(item)) return MALFORMED;
    const position = positionOf(event);
    this.#isInOrder &&= position > this.#lastItem;
    this.#lastItem = position;
    this.#items += 1;
    const delta = this.#deltaOf(position, item);
    if (this.#calls.isTooMany) return MALFORMED;
    this.#parts += delta.extras?.parts?.length ?? 0;
    return { kind: 'delta', delta };
  }

  #deltaOf(position: number, item: Json): ModelDelta {
    switch (item['type']) {
      case 'message':
        return this.#messageDelta(position, item);
      case 'reasoning':
        return this.#reasoningDelta(position, item);
      case 'function_call':
        return this.#callDelta(position, item);
      default:
        return { extras: { parts: [item] } };
    }
  }

  #messageDelta(position: number, item: Json): ModelDelta {
    const content = this.#text.has(position) ? '' : this.#textOf(position, item['content']);
    const parts = this.#text.partsOf(position, omitUndefined({ id: textIn(item['id']), phase: textIn(item['phase']) }));
    return { ...(content === '' ? {} : { content }), extras: { parts } };
  }

  /** The text of a message that was not streamed. */
  #textOf(position: number, contents: unknown): string {
    return (Array.isArray(contents) ? contents : [])
      .filter(isRecord)
      .flatMap((content) => {
        const kind: TextKind = content['type'] === 'refusal' ? 'refusal' : 'output_text';
        const text = textIn(kind === 'refusal' ? content['refusal'] : content['text']);
        return text === undefined ? [] : [{ kind, text }];
      })
      .map(({ kind, text }, index) => this.#text.add({ item: position, content: index, kind, text }))
      .join('');
  }

  #reasoningDelta(position: number, item: Json): ModelDelta {
    const reasoning = this.#reasoning.has(position) ? '' : this.#reasoning.addItem(position, item);
    return { ...(reasoning === '' ? {} : { reasoning }), extras: { parts: [toReasoningPart(item)] } };
  }

  #callDelta(position: number, item: Json): ModelDelta {
    const toolCallChunks = this.#calls.end(position, item);
    const index = this.#calls.indexOf(position) ?? 0;
    return {
      ...(toolCallChunks.length === 0 ? {} : { toolCallChunks }),
      extras: { parts: [{ call: index }], calls: { [index]: toCallExtras(item) } },
    };
  }

  #finish({ type, response }: Json): ParsedChunk {
    if (!isRecord(response)) return MALFORMED;
    const isComplete = type === 'response.completed';
    const completed = this.#calls.count > 0 ? 'tool_calls' : 'stop';
    const output = response['output'];
    const items = Array.isArray(output) && output.length > 0 ? output.length : this.#items;
    this.#end = {
      finishReason: isComplete ? completed : incompleteReason(response),
      isWhole: isComplete && items === this.#items && this.#isInOrder && this.#text.isInOrder,
      response,
    };
    return { kind: 'end' };
  }
}

/** The error of a failed response or of an error event, which has it in `error` or is it. */
function errorOf(holder: unknown): unknown {
  const error = isRecord(holder) && isRecord(holder['error']) ? holder['error'] : holder;
  const [code, message] = isRecord(error) ? [textIn(error['code']), textIn(error['message'])] : [];
  if (code === undefined && message === undefined) return { code: 'server_error', message: 'the response failed' };
  return omitUndefined({ code, message });
}

/** Position of the event's item in the output. */
const positionOf = (event: Json): number => indexIn(event['output_index']);

const indexIn = (value: unknown): number => (typeof value === 'number' ? value : 0);
