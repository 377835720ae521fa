import { type Answer, type Call, usageOf } from './items.js';
import { isRecord, numberOf, stringOf, textOf } from './json.js';

/** Adds a delta to an answer: text, reasoning, pieces of calls, and the token counts that come with the last one. */
export function withChunk(answer: Answer, chunk: Readonly<Record<string, unknown>>): Answer {
  const extra = isRecord(chunk['additional_kwargs']) ? chunk['additional_kwargs'] : {};
  const about = isRecord(chunk['response_metadata']) ? chunk['response_metadata'] : {};
  const pieces = Array.isArray(chunk['tool_call_chunks']) ? chunk['tool_call_chunks'] : [];
  return {
    ...answer,
    text: answer.text + textOf(chunk['content']),
    reasoning: answer.reasoning + (stringOf(extra['reasoning_content']) ?? ''),
    calls: pieces.reduce<readonly Call[]>(withPiece, answer.calls),
    model: stringOf(about['model_name']) ?? answer.model,
    usage: usageOf(chunk['usage_metadata']) ?? answer.usage,
  };
}

/** Most calls of one answer that are shown; a server sends far fewer. */
const MAX_CALLS = 1_000;

function withPiece(calls: readonly Call[], piece: unknown): readonly Call[] {
  if (!isRecord(piece)) return calls;
  const index = numberOf(piece['index']) ?? calls.length;
  if (!Number.isInteger(index) || index < 0 || index > Math.min(calls.length, MAX_CALLS)) return calls;
  const known = calls[index] ?? { id: '', name: '', args: undefined, argsText: '' };
  const call: Call = {
    id: stringOf(piece['id']) ?? known.id,
    name: stringOf(piece['name']) ?? known.name,
    args: undefined,
    argsText: (known.argsText ?? '') + (stringOf(piece['args']) ?? ''),
  };
  return index === calls.length ? [...calls, call] : calls.with(index, call);
}
