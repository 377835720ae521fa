import { setImmediate as nextTurnOfLoop } from 'node:timers/promises';
import { ModelError } from '@caribou/contracts';
import type { AnswerExtras, ModelCall, ModelDelta, ModelPort } from '@caribou/core';

/** A call as the provider streams it; `args` as text may be invalid JSON. */
export interface ScriptedCall {
  readonly name: string;
  readonly args?: Readonly<Record<string, unknown>> | string;
}

/** One answer of a scripted model, streamed in this order: reasoning, content, calls, usage, finish reason. */
export interface ScriptedAnswer {
  readonly reasoning?: readonly string[];
  readonly content?: readonly string[] | string;
  readonly calls?: readonly ScriptedCall[];
  /** Sent with the calls, before the usage. */
  readonly extras?: AnswerExtras;
  readonly usage?: { readonly input_tokens: number; readonly output_tokens: number; readonly total_tokens: number };
  /** Default `tool_calls` with calls, else `stop`. */
  readonly finishReason?: string;
  /** Ends the stream without a finish reason after this many deltas. */
  readonly cutAfter?: number;
  /** Thrown instead of the finish reason, or after `cutAfter` deltas. */
  readonly error?: Error;
  /** Awaited before the delta of this number (from 0), or until the abort. */
  readonly holdBefore?: { readonly delta: number; readonly until: Promise<unknown> };
}

export interface ScriptedModel extends ModelPort {
  /** Every call received, oldest first. */
  readonly calls: readonly ModelCall[];
}

/**
 * A model that answers from a list: the answer is chosen by the number of AI messages it is shown, so a takeover
 * gets the same one again. A list instead of an answer gives one per attempt; the last one repeats.
 */
export function scriptedModel(script: readonly (ScriptedAnswer | readonly ScriptedAnswer[])[]): ScriptedModel {
  const calls: ModelCall[] = [];
  const attempts = new Map<number, number>();
  return {
    name: 'scripted',
    endpoint: { provider: 'test', model: 'scripted' },
    dialect: 'generic',
    supportsVision: false,
    supportsThinking: true,
    calls,
    stream(call, { signal }) {
      calls.push(call);
      const turn = call.messages.filter((message) => message.type === 'ai').length;
      const attempt = attempts.get(turn) ?? 0;
      attempts.set(turn, attempt + 1);
      const entry = script[turn] ?? { content: 'done' };
      const answer = isList(entry) ? entry[Math.min(attempt, entry.length - 1)] : entry;
      return stream(answer ?? {}, signal);
    },
  };
}

const isList = (entry: ScriptedAnswer | readonly ScriptedAnswer[]): entry is readonly ScriptedAnswer[] =>
  Array.isArray(entry);

async function* stream(answer: ScriptedAnswer, signal: AbortSignal): AsyncGenerator<ModelDelta> {
  const deltas = deltasOf(answer);
  const end = answer.cutAfter ?? deltas.length;
  for (const [index, delta] of deltas.slice(0, end).entries()) {
    if (answer.holdBefore?.delta === index) await Promise.race([answer.holdBefore.until, aborted(signal)]);
    signal.throwIfAborted();
    yield delta;
  }
  if (answer.holdBefore?.delta === end) await Promise.race([answer.holdBefore.until, aborted(signal)]);
  signal.throwIfAborted();
  if (answer.error !== undefined) throw answer.error;
  if (answer.cutAfter !== undefined) return;
  yield { finishReason: answer.finishReason ?? (answer.calls === undefined ? 'stop' : 'tool_calls') };
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });

/** Call ids like those of many servers: every answer begins again with `call_0`. */
function deltasOf(answer: ScriptedAnswer): readonly ModelDelta[] {
  const content = typeof answer.content === 'string' ? [answer.content] : (answer.content ?? []);
  return [
    ...(answer.reasoning ?? []).map((reasoning) => ({ reasoning })),
    ...content.map((text) => ({ content: text })),
    ...(answer.calls ?? []).flatMap((call, index) => callDeltas(call, index)),
    ...(answer.extras === undefined ? [] : [{ extras: answer.extras }]),
    ...(answer.usage === undefined ? [] : [{ usage: answer.usage }]),
  ];
}

function callDeltas({ name, args = {} }: ScriptedCall, index: number): readonly ModelDelta[] {
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  const middle = Math.ceil(text.length / 2);
  const piece = (part: string, first: boolean): ModelDelta => ({
    toolCallChunks: [
      { name: first ? name : null, args: part, id: first ? `call_${index}` : null, index, type: 'tool_call_chunk' },
    ],
  });
  return [piece(text.slice(0, middle), true), piece(text.slice(middle), false)];
}

/** A failure as the model adapter throws it. */
export const modelFailure = (details: {
  readonly reason: string;
  readonly providerStatus?: number;
  readonly retryAfterMs?: number;
  readonly providerText?: string;
}): ModelError =>
  new ModelError(`the model failed: ${details.reason}`, {
    retryable:
      details.providerStatus === undefined ||
      details.providerStatus >= 500 ||
      [408, 409, 425, 429].includes(details.providerStatus),
    details,
  });

/** A model whose deltas arrive one by one, as over a network, so that the writer gets each separately. */
export const overNetwork = (model: ScriptedModel): ScriptedModel => ({
  ...model,
  async *stream(call, options) {
    for await (const delta of model.stream(call, options)) {
      await nextTurnOfLoop();
      yield delta;
    }
  },
});
