import type { Delta } from '../../demo-model/reply.js';
import type { Problem } from '../framework/problem.js';
import type { AnswerEnd, Renderer } from '../framework/vendor.js';
import { CollectedAnswer } from './collected-answer.js';

type Json = Record<string, unknown>;

/** How a vendor's `chat.completion.chunk` differs from the others'. All functions are pure but for what they close over. */
export interface ChunkStyle {
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields of each chunk besides `object`, `choices` and `usage`. */
  readonly envelope: Json;
  /** Fields of a choice of a chunk besides `index`, `delta` and `finish_reason`. */
  readonly choice?: Json;
  /** Chunks or comments before the first delta: whole events, made by {@link dataEvent}. */
  before?(): string[];
  /** The delta that begins the answer; absent: it has no chunk of its own. */
  readonly first?: Json;
  /** The `delta` objects of one scripted delta. */
  deltas(delta: Delta, answer: CollectedAnswer): Json[];
  /** Deltas that the vendor only sends when everything else was sent. */
  closing?(answer: CollectedAnswer, end: AnswerEnd): Json[];
  /** Whole events between the last delta and the chunk with the finish reason. */
  beforeLast?(end: AnswerEnd): string[];
  /** The delta beside the finish reason; absent: empty. */
  lastDelta?(answer: CollectedAnswer, end: AnswerEnd): Json;
  finishReason(end: AnswerEnd, answer: CollectedAnswer): string;
  /** Whether chunks before the last have no finish_reason; otherwise it is null. */
  readonly omitsNullFinish?: boolean;
  /** Called when the answer has been sent to its end. */
  finished?(answer: CollectedAnswer): void;
  /** Fields beside the last finish_reason. */
  lastChoice?(end: AnswerEnd): Json;
  /** Fields of the chunk with the counts of tokens, beside them. */
  readonly besideUsage?: Json;
  usage(end: AnswerEnd): Json;
  /**
   * Where the counts of tokens are: in a chunk of their own without choices, in the last chunk, or in both; `none`: not asked for.
   */
  readonly usageIn: 'own' | 'last' | 'none';
  /** With `usageIn` `own`: whether all other chunks carry `usage: null`. */
  readonly nullUsage?: boolean;
  /** The `message` of an answer that is not streamed. */
  message(answer: CollectedAnswer, end: AnswerEnd): Json;
  /** Events of a problem after the answer has begun. */
  fail(problem: Problem): string[];
}

export const dataEvent = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const DONE = 'data: [DONE]\n\n';

/** The renderer of a vendor of chat completions. */
export function chunkRenderer(style: ChunkStyle): Renderer {
  const answer = new CollectedAnswer();
  const chunk = (delta: Json, finish: string | null, more: { choice?: Json; top?: Json } = {}): string =>
    dataEvent({
      ...style.envelope,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, ...finishOf(finish), ...style.choice, ...more.choice }],
      ...(style.nullUsage && style.usageIn === 'own' ? { usage: null } : {}),
      ...more.top,
    });
  const finishOf = (reason: string | null): Json =>
    reason === null && style.omitsNullFinish === true ? {} : { finish_reason: reason };
  return {
    ...(style.headers === undefined ? {} : { headers: style.headers }),
    start: () => [...(style.before?.() ?? []), ...(style.first === undefined ? [] : [chunk(style.first, null)])],
    delta(delta) {
      answer.add(delta);
      return style.deltas(delta, answer).map((inner) => chunk(inner, null));
    },
    finish(end) {
      const usage = style.usage(end);
      const top = style.usageIn === 'last' ? { usage, ...style.besideUsage } : {};
      style.finished?.(answer);
      const own = { ...style.envelope, object: 'chat.completion.chunk', choices: [], usage, ...style.besideUsage };
      const closing = (style.closing?.(answer, end) ?? []).map((inner) => chunk(inner, null));
      const choice = style.lastChoice?.(end) ?? {};
      const last = chunk(style.lastDelta?.(answer, end) ?? {}, style.finishReason(end, answer), { choice, top });
      return [
        ...closing,
        ...(style.beforeLast?.(end) ?? []),
        last,
        ...(style.usageIn === 'own' ? [dataEvent(own)] : []),
        DONE,
      ];
    },
    fail: (problem) => style.fail(problem),
    body: (end) => ({
      ...style.besideUsage,
      ...style.envelope,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', ...style.message(answer, end) },
          finish_reason: style.finishReason(end, answer),
          ...style.choice,
        },
      ],
      usage: style.usage(end),
    }),
  };
}
