import type { FeedMessage } from '@caribou/contracts';
import { isRecord, numberOf, stringOf, textOf } from './json.js';

/** A call of a tool. Arguments are an object once the call is complete, and a piece of JSON while it streams. */
export interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly argsText: string | undefined;
}

export interface Usage {
  readonly input: number;
  readonly output: number;
  /** Parts of the input: read from the provider's cache, and written to it. */
  readonly cached: number;
  readonly written: number;
  /** Part of the output. */
  readonly reasoning: number;
  /** What of input and output the subagents of an answer took, maybe of other models. */
  readonly subagents: { readonly input: number; readonly output: number };
}

interface Common {
  readonly id: string;
  /** Its number in the feed; undefined until it was read from there. */
  readonly seq: number | undefined;
  readonly runId: string | undefined;
  readonly createdAt: string | undefined;
}

/**
 * A message of the person. `sending`: no answer of the server yet; `waiting`: accepted, not yet part of the conversation; `dropped`:
 * its run ended before it became part of it.
 */
export interface Said extends Common {
  readonly kind: 'said';
  readonly text: string;
  readonly files: readonly string[];
  readonly state: 'sending' | 'waiting' | 'dropped' | 'stored';
  /** Whether it was sent to join a run under way. */
  readonly joins: boolean;
}

/** `streaming`: more may come; `lost`: its run ended before it was stored. */
export interface Answer extends Common {
  readonly kind: 'answer';
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly Call[];
  readonly state: 'streaming' | 'stored' | 'lost';
  /** Whether its beginning could not be read again after a lost connection; it is whole once it is stored. */
  readonly lacksBeginning: boolean;
  readonly model: string | undefined;
  readonly usage: Usage | undefined;
  /** Of the whole run, in seconds; with its last answer. */
  readonly durationSeconds: number | undefined;
  readonly rating: number | undefined;
  /** Whether it says why there is no answer of a model. */
  readonly isFailure: boolean;
}

/** What a tool returned. */
export interface Result extends Common {
  readonly kind: 'result';
  readonly callId: string;
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
  /** How a subagent ended, for results of `task`. */
  readonly subagent: { readonly status: string; readonly model: string | undefined } | undefined;
}

export type Item = Said | Answer | Result;

type Place = Pick<Common, 'seq' | 'runId' | 'createdAt'>;
type Json = Readonly<Record<string, unknown>>;

const NEW: Place = { seq: undefined, runId: undefined, createdAt: undefined };

/** A message of the feed. Undefined for one that people do not see. */
export function itemOfFeed(entry: FeedMessage): Item | undefined {
  const place = { seq: entry.seq, runId: entry.run_id ?? undefined, createdAt: entry.created_at };
  const item = itemOf(entry.content, place);
  return item?.kind === 'answer' && entry.feedback !== null ? { ...item, rating: entry.feedback.rating } : item;
}

/** A whole message as the server sends it. Undefined for one that people do not see, and for what is no message. */
export function itemOf(message: unknown, place: Partial<Place> = {}): Item | undefined {
  if (!isRecord(message) || typeof message['id'] !== 'string') return undefined;
  const extra = isRecord(message['additional_kwargs']) ? message['additional_kwargs'] : {};
  if (extra['hide_from_ui'] === true) return undefined;
  const common = { ...NEW, ...place, id: message['id'] };
  switch (message['type']) {
    case 'human':
      return isOfPerson(message, extra) ? saidOf(message, extra, common) : undefined;
    case 'ai':
      return answerOf(message, extra, common);
    case 'tool':
      return resultOf(message, extra, common);
    default:
      return undefined;
  }
}

/** Middlewares name their messages to the model. */
function isOfPerson(message: Json, extra: Json): boolean {
  const name = message['name'] ?? '';
  return name === '' || name === 'user-input' || extra['deerflow_from_client'] === true;
}

function saidOf(message: Json, extra: Json, common: Common): Said {
  const original = extra['original_user_content'];
  const files = Array.isArray(extra['files']) ? extra['files'] : [];
  return {
    ...common,
    kind: 'said',
    text: textOf(original ?? message['content']),
    files: files.flatMap((file: unknown) =>
      isRecord(file) && typeof file['filename'] === 'string' ? [file['filename']] : [],
    ),
    state: 'stored',
    joins: false,
  };
}

function answerOf(message: Json, extra: Json, common: Common): Answer | undefined {
  const calls = [...callsIn(message['tool_calls']), ...callsIn(message['invalid_tool_calls'])];
  const text = textOf(message['content']);
  const reasoning = stringOf(extra['reasoning_content']) ?? thinkingIn(message['content']);
  if (calls.length === 0 && text === '' && reasoning === '') return undefined;
  const about = isRecord(message['response_metadata']) ? message['response_metadata'] : {};
  return {
    ...common,
    kind: 'answer',
    text,
    reasoning,
    calls,
    state: 'stored',
    lacksBeginning: false,
    model: stringOf(about['model_name']),
    usage: usageOf(message['usage_metadata'], extra['subagent_token_usage']),
    durationSeconds: numberOf(extra['turn_duration']),
    rating: undefined,
    isFailure: extra['deerflow_error_fallback'] === true,
  };
}

function resultOf(message: Json, extra: Json, common: Common): Result {
  const status = stringOf(extra['subagent_status']);
  return {
    ...common,
    kind: 'result',
    callId: stringOf(message['tool_call_id']) ?? '',
    name: stringOf(message['name']) ?? '',
    text: textOf(message['content']),
    isError: message['status'] === 'error',
    subagent: status === undefined ? undefined : { status, model: stringOf(extra['subagent_model_name']) },
  };
}

function callsIn(calls: unknown): Call[] {
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call: unknown) => {
    if (!isRecord(call)) return [];
    const args = call['args'];
    const isText = typeof args === 'string';
    return {
      id: stringOf(call['id']) ?? '',
      name: stringOf(call['name']) ?? '',
      args: isText ? undefined : args,
      argsText: isText ? args : undefined,
    };
  });
}

function thinkingIn(content: unknown): string {
  if (!Array.isArray(content)) return '';
  return content
    .map((block: unknown) =>
      isRecord(block) && block['type'] === 'thinking' ? (stringOf(block['thinking']) ?? '') : '',
    )
    .join('');
}

/** Token counts of a message; undefined when its provider reported none. */
export function usageOf(usage: unknown, ofSubagents?: unknown): Usage | undefined {
  if (!isRecord(usage)) return undefined;
  const subagents = isRecord(ofSubagents) ? ofSubagents : {};
  const input = isRecord(usage['input_token_details']) ? usage['input_token_details'] : {};
  const output = isRecord(usage['output_token_details']) ? usage['output_token_details'] : {};
  return {
    input: numberOf(usage['input_tokens']) ?? 0,
    output: numberOf(usage['output_tokens']) ?? 0,
    cached: numberOf(input['cache_read']) ?? 0,
    written: numberOf(input['cache_creation']) ?? 0,
    reasoning: numberOf(output['reasoning']) ?? 0,
    subagents: {
      input: numberOf(subagents['input_tokens']) ?? 0,
      output: numberOf(subagents['output_tokens']) ?? 0,
    },
  };
}
