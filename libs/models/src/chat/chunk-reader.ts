import { isRecord, omitUndefined, type ToolCallChunk } from '@caribou/contracts';
import type { AnswerExtras, ModelDelta } from '@caribou/core';
import type { AnswerReader, ParsedChunk } from '../http/answer-reader.js';
import { textIn } from '../http/narrow.js';
import { readChunks, ThinkingChunks } from './content-chunks.js';
import type { Dialect } from './dialects/dialect.js';
import { InlineThinking, type SplitPiece } from './inline-thinking.js';
import { ReasoningDetails } from './reasoning-details.js';
import { failureIn, failureOfEnd, kindOfEnd } from './stream-failure.js';
import { ToolCallSlots } from './tool-call-slots.js';
import { usageOf } from './usage.js';

type Json = Readonly<Record<string, unknown>>;
type Usage = NonNullable<ModelDelta['usage']>;

const NOTHING: ParsedChunk = { kind: 'nothing' };
const MALFORMED: ParsedChunk = { kind: 'malformed' };

/** Parses the chunks of one answer in order; usage, finish reason and extras are part of the last delta. */
export class ChunkReader implements AnswerReader {
  readonly #slots = new ToolCallSlots();
  /** Undefined once the content cannot have reasoning any more. */
  #inline: InlineThinking | undefined;
  readonly #chunks: ThinkingChunks | undefined;
  #details: ReasoningDetails | undefined;
  #extraContent: Json | undefined;
  #finishReason: string | undefined;
  #usage: Usage | undefined;
  #metadata: Json = {};

  constructor({ thinkingTag, thinkingChunks }: Pick<Dialect, 'thinkingTag' | 'thinkingChunks'>) {
    this.#inline = thinkingTag === undefined ? undefined : new InlineThinking(thinkingTag);
    this.#chunks = thinkingChunks ? new ThinkingChunks() : undefined;
  }

  /** Whether the answer is complete: only one with a finish reason is. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined;
  }

  read(chunk: unknown): ParsedChunk {
    if (!isRecord(chunk)) return MALFORMED;
    const failure = failureIn(chunk);
    if (failure !== undefined) return { kind: 'error', error: failure };
    if (isRecord(chunk['usage'])) this.#usage = usageOf(chunk['usage']) ?? this.#usage;
    const choice: unknown = Array.isArray(chunk['choices']) ? chunk['choices'][0] : undefined;
    if (!isRecord(choice)) return NOTHING;
    const reason = textIn(choice['finish_reason']);
    if (reason !== undefined) {
      const failed = failureOfEnd(reason, choice);
      if (failed !== undefined) return { kind: 'error', error: failed };
      this.#finish(reason, choice, chunk);
    }
    return isRecord(choice['delta']) ? this.#readDelta(choice['delta']) : NOTHING;
  }

  /** Returns the last delta of a finished answer: what was held back, extras, finish reason, usage, model name, fingerprint. */
  last(): ModelDelta {
    const held = this.#inline?.end();
    return {
      ...omitUndefined({
        content: textIn(held?.content),
        reasoning: textIn(held?.reasoning),
        extras: this.#extras(),
        finishReason: this.#finishReason,
        usage: this.#usage,
      }),
      responseMetadata: this.#metadata,
    };
  }

  /** Kimi reports usage in the last choice. */
  #finish(reason: string, choice: Json, chunk: Json): void {
    this.#finishReason = kindOfEnd(reason);
    this.#metadata = metadataOf(chunk);
    if (isRecord(choice['usage'])) this.#usage = usageOf(choice['usage']) ?? this.#usage;
  }

  #readDelta(delta: Json): ParsedChunk {
    const pieces = delta['tool_calls'];
    const calls = Array.isArray(pieces) && pieces.length > 0 ? this.#slots.read(pieces) : NO_CALLS;
    const details = delta['reasoning_details'];
    const detailed = Array.isArray(details) ? (this.#details ??= new ReasoningDetails()).add(details) : '';
    if (calls === undefined || detailed === undefined) return MALFORMED;
    const { content, reasoning } = this.#readText(delta, detailed);
    return deltaOf(content === '' ? (textIn(delta['refusal']) ?? '') : content, reasoning, calls);
  }

  /** Reasoning has a field of its own, or is part of the content. */
  #readText(delta: Json, detailed: string): SplitPiece {
    const separate = textIn(delta['reasoning_content']) ?? textIn(delta['reasoning']) ?? detailed;
    const read = this.#readContent(delta);
    return separate === '' ? read : { content: read.content, reasoning: separate };
  }

  #readContent(delta: Json): SplitPiece {
    const raw = delta['content'];
    if (Array.isArray(raw)) {
      this.#chunks?.addChunks(raw);
      return readChunks(raw);
    }
    const content = textIn(raw) ?? '';
    this.#chunks?.addText(content);
    if (isRecord(delta['extra_content'])) {
      const isThought = this.#takeExtraContent(delta['extra_content']);
      if (isThought) return { content: '', reasoning: content.replace(/^<thought>|<\/thought>$/g, '') };
    }
    if (this.#inline === undefined || content === '') return { content, reasoning: '' };
    const split = this.#inline.split(content);
    if (this.#inline.isOver) this.#inline = undefined;
    return split;
  }

  /** Remembers Gemini's signature of the message; returns whether the content is a thought. */
  #takeExtraContent(extra: Json): boolean {
    const google = isRecord(extra['google']) ? extra['google'] : {};
    const { thought, ...signed } = google;
    if (Object.keys(signed).length > 0) this.#extraContent = { ...extra, google: signed };
    return thought === true;
  }

  #extras(): AnswerExtras | undefined {
    const message = omitUndefined({ extra_content: this.#extraContent, reasoning_details: this.#details?.items });
    const extras = omitUndefined({
      message: Object.keys(message).length === 0 ? undefined : message,
      calls: this.#slots.extras,
      parts: this.#chunks?.parts,
    });
    return Object.keys(extras).length === 0 ? undefined : extras;
  }
}

const NO_CALLS: readonly ToolCallChunk[] = [];

function deltaOf(content: string, reasoning: string, calls: readonly ToolCallChunk[]): ParsedChunk {
  if (content === '' && reasoning === '' && calls.length === 0) return NOTHING;
  const delta: { content?: string; reasoning?: string; toolCallChunks?: readonly ToolCallChunk[] } = {};
  if (content !== '') delta.content = content;
  if (reasoning !== '') delta.reasoning = reasoning;
  if (calls.length > 0) delta.toolCallChunks = calls;
  return { kind: 'delta', delta };
}

function metadataOf(chunk: Json): Json {
  const [model, fingerprint] = [textIn(chunk['model']), textIn(chunk['system_fingerprint'])];
  return omitUndefined({ model_name: model, system_fingerprint: fingerprint });
}
