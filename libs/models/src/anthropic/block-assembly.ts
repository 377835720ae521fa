import { isRecord } from '@caribou/contracts';
import type { AnswerExtras, ModelDelta } from '@caribou/core';
import type { ParsedChunk } from '../http/answer-reader.js';
import { parseJson } from '../http/provider-text.js';

type Json = Readonly<Record<string, unknown>>;
type Shown = 'content' | 'reasoning';

/** A block that is being received. */
type OpenBlock =
  | { readonly kind: 'text'; chars: number }
  | { readonly kind: 'call'; readonly index: number; readonly id: string | undefined }
  /** Thoughts and blocks of the server, which are sent back as they came. */
  | { readonly kind: 'stored'; readonly block: Record<string, unknown>; json: string };

/** A text by its length, a call by its index, or a block as it came. */
type Part = Json;

/** Limit of calls in one answer; more are an error of the model. */
const MAX_CALLS = 128;
/** Limit of blocks in one answer. */
const MAX_BLOCKS = 4_096;

const NOTHING: ParsedChunk = { kind: 'nothing' };
const MALFORMED: ParsedChunk = { kind: 'malformed' };

/**
 * Receives the blocks of an answer: text, thoughts and calls are shown as they come, and all blocks are stored in their order once
 * there is one that has to be sent back.
 */
export class BlockAssembly {
  readonly #open = new Map<unknown, OpenBlock>();
  readonly #parts: Part[] = [];
  readonly #callIds: Record<number, { readonly id: string }> = {};
  #calls = 0;
  #blocks = 0;

  start(index: unknown, block: Json): ParsedChunk {
    this.#blocks += 1;
    if (this.#blocks > MAX_BLOCKS) return MALFORMED;
    if (block['type'] === 'text') {
      this.#open.set(index, { kind: 'text', chars: 0 });
      return this.append(index, { type: 'text_delta', text: block['text'] });
    }
    if (block['type'] === 'tool_use') return this.#startCall(index, block);
    this.#open.set(index, { kind: 'stored', block: { ...block }, json: '' });
    return block['type'] === 'thinking' ? show('reasoning', block['thinking']) : NOTHING;
  }

  append(index: unknown, delta: Json): ParsedChunk {
    const open = this.#open.get(index);
    if (open === undefined) return MALFORMED;
    if (open.kind === 'text') {
      if (delta['type'] !== 'text_delta' || typeof delta['text'] !== 'string') return NOTHING;
      open.chars += delta['text'].length;
      return show('content', delta['text']);
    }
    if (open.kind === 'call')
      return delta['type'] === 'input_json_delta' ? chunk(open.index, delta['partial_json']) : NOTHING;
    return store(open, delta);
  }

  stop(index: unknown): ParsedChunk {
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open?.kind === 'stored') {
      const input = open.json === '' ? undefined : parseJson(open.json);
      this.#parts.push(input === undefined ? open.block : { ...open.block, input });
    } else if (open?.kind === 'call') this.#parts.push({ call: open.index });
    else if (open !== undefined && open.chars > 0) this.#parts.push({ text: open.chars });
    return NOTHING;
  }

  /** What has to be sent back: ids of calls, and all blocks unless the answer is a text followed by calls. */
  extras(): AnswerExtras | undefined {
    const isPlain = this.#parts.every(
      (part, at) => (typeof part['text'] === 'number' && at === 0) || typeof part['call'] === 'number',
    );
    const hasIds = Object.keys(this.#callIds).length > 0;
    if (isPlain && !hasIds) return undefined;
    return { ...(hasIds ? { calls: this.#callIds } : {}), ...(isPlain ? {} : { parts: this.#parts }) };
  }

  #startCall(index: unknown, { id, name, input }: Json): ParsedChunk {
    const call = this.#calls;
    this.#calls += 1;
    if (this.#calls > MAX_CALLS) return MALFORMED;
    const callId = typeof id === 'string' ? id : undefined;
    this.#open.set(index, { kind: 'call', index: call, id: callId });
    // Ids of compatible servers may repeat; those of Anthropic do not.
    if (callId !== undefined && /^toolu_\w{16,}$/.test(callId)) this.#callIds[call] = { id: callId };
    const args = isRecord(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '';
    const first = { name: typeof name === 'string' ? name : null, id: callId ?? null, args, index: call };
    return { kind: 'delta', delta: { toolCallChunks: [{ ...first, type: 'tool_call_chunk' }] } };
  }
}

/** Appends texts of a delta to the fields of the same names; `input` comes as pieces of JSON. */
function store(open: OpenBlock & { readonly kind: 'stored' }, delta: Json): ParsedChunk {
  const { type, ...fields } = delta;
  if (type === 'input_json_delta') {
    open.json += typeof fields['partial_json'] === 'string' ? fields['partial_json'] : '';
    return NOTHING;
  }
  for (const [name, value] of Object.entries(fields)) {
    const before = open.block[name];
    open.block[name] = typeof value === 'string' && typeof before === 'string' ? before + value : value;
  }
  return open.block['type'] === 'thinking' ? show('reasoning', fields['thinking']) : NOTHING;
}

function show(as: Shown, text: unknown): ParsedChunk {
  if (typeof text !== 'string' || text === '') return NOTHING;
  const delta: ModelDelta = as === 'content' ? { content: text } : { reasoning: text };
  return { kind: 'delta', delta };
}

function chunk(index: number, args: unknown): ParsedChunk {
  if (typeof args !== 'string' || args === '') return NOTHING;
  return { kind: 'delta', delta: { toolCallChunks: [{ name: null, id: null, args, index, type: 'tool_call_chunk' }] } };
}
