import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ModelApiError } from './api-error.js';
import type { Control, LiveRecord } from './control.js';
import type { Delta, Reply, ToolCallDelta } from './reply.js';

export const MODEL_ID = 'caribou-demo';

export interface AnswerOptions {
  responseId: string;
  model: string;
  stream: boolean;
  includeUsage: boolean;
  inputTokens: number;
  /** Part of the input tokens that is reported as read from a cache, from 0 to 1. */
  cachedShare: number;
  /** Receives what an answer that was sent to its end has reported. */
  onAnswered: (tokens: ReportedTokens) => void;
  control: Control;
  record: LiveRecord;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}

/** The tokens that an answer reports; cached ones are part of the input, those of reasoning part of the output. */
export interface ReportedTokens {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

interface Sink {
  headers(): void;
  delta(delta: Delta): Promise<void>;
  fail(error: ModelApiError): void;
  finish(reason: Reply['finish'], usage: object): void;
}

/** Sends a reply on the response; returns early, without an end, when the client disconnects. */
export async function answer(res: ServerResponse, reply: Reply, options: AnswerOptions): Promise<void> {
  const { control, record, signal } = options;
  const sink = options.stream ? streamSink(res, options) : jsonSink(res, options);
  for (const op of reply.ops) {
    if (signal.aborted) return;
    if (op.op === 'delta') {
      await sink.delta(op.delta);
      record.deltas += 1;
    } else if (op.op === 'wait') await pause(op.ms, signal);
    else if (op.op === 'hold') await control.hold(op.name, record.id, signal);
    else if (op.op === 'headers') sink.headers();
    else {
      record.finished = true;
      if (op.op === 'fail') sink.fail(new ModelApiError(op.status, op.message));
      else if (op.op === 'fault')
        throw new Error(`chooseReply accepted the fault "${op.kind}", which this server has not`);
      else cut(res, op.reset, sink);
      return;
    }
  }
  if (signal.aborted) return;
  record.finished = true;
  const tokens = tokensOf(reply, options);
  sink.finish(reply.finish, usageOf(tokens));
  options.onAnswered(tokens);
}

/** Waits; returns early when the client disconnects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (cause) {
    if (!signal.aborted) throw cause;
  }
}

/** Ends the body with neither a finish reason nor `[DONE]`, or breaks the connection. */
function cut(res: ServerResponse, reset: boolean, sink: Sink): void {
  if (reset) {
    res.destroy();
    return;
  }
  sink.headers();
  res.end();
}

function tokensOf(reply: Reply, { inputTokens, cachedShare }: AnswerOptions): ReportedTokens {
  const deltas = reply.ops.flatMap((op) => (op.op === 'delta' ? [op.delta] : []));
  const input = reply.usage?.input ?? inputTokens;
  return {
    input,
    cached: Math.floor(input * cachedShare),
    output: reply.usage?.output ?? deltas.length,
    reasoning: deltas.filter((delta) => 'reasoning_content' in delta).length,
  };
}

const usageOf = ({ input, cached, output, reasoning }: ReportedTokens): object => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
});

function streamSink(res: ServerResponse, options: AnswerOptions): Sink {
  const { signal, includeUsage } = options;
  const head = JSON.stringify(envelope(options, 'chat.completion.chunk')).slice(0, -1);
  const nullUsage = includeUsage ? ',"usage":null' : '';
  const chunk = (delta: object, reason: string | null): string =>
    `data: ${head}${nullUsage},"choices":[{"index":0,"delta":${JSON.stringify(delta)},"logprobs":null,"finish_reason":${JSON.stringify(reason)}}]}\n\n`;
  let roleSent = false;
  const headers = (): void => {
    if (res.headersSent) return;
    options.record.status = 200;
    res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
    res.flushHeaders();
  };
  const role = (): string => {
    if (roleSent) return '';
    roleSent = true;
    return chunk({ role: 'assistant', content: '' }, null);
  };
  return {
    headers,
    async delta(delta) {
      headers();
      if (!res.write(role() + chunk(delta, null))) await waitForDrain(res, signal);
    },
    fail(error) {
      if (!res.headersSent) return sendJson(res, error.status, error.body(), options.record);
      res.end(`data: ${JSON.stringify(error.body())}\n\n`);
    },
    finish(reason, usage) {
      headers();
      const last = includeUsage ? `data: ${head},"usage":${JSON.stringify(usage)},"choices":[]}\n\n` : '';
      res.end(`${role()}${chunk({}, reason)}${last}data: [DONE]\n\n`);
    },
  };
}

/** Resolves when more can be written, or the client has disconnected. */
export async function waitForDrain(res: ServerResponse, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const onDone = (): void => {
      res.off('drain', onDone);
      signal.removeEventListener('abort', onDone);
      resolve();
    };
    res.once('drain', onDone);
    signal.addEventListener('abort', onDone, { once: true });
  });
}

function jsonSink(res: ServerResponse, options: AnswerOptions): Sink {
  const whole = { content: '', reasoning: '', calls: new Map<number, ToolCallDelta>() };
  return {
    headers: () => undefined,
    async delta(delta) {
      if ('content' in delta) whole.content += delta.content;
      else if ('reasoning_content' in delta) whole.reasoning += delta.reasoning_content;
      else addCall(whole.calls, delta.tool_calls[0]);
    },
    fail: (error) => sendJson(res, error.status, error.body(), options.record),
    finish(reason, usage) {
      const calls = [...whole.calls.values()].map(({ index: _index, ...call }) => call);
      const message = {
        role: 'assistant',
        content: whole.content === '' && calls.length > 0 ? null : whole.content,
        refusal: null,
        ...(whole.reasoning === '' ? {} : { reasoning_content: whole.reasoning }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      };
      const choices = [{ index: 0, message, logprobs: null, finish_reason: reason }];
      sendJson(res, 200, { ...envelope(options, 'chat.completion'), choices, usage }, options.record);
    },
  };
}

function addCall(calls: Map<number, ToolCallDelta>, piece: ToolCallDelta): void {
  const known = calls.get(piece.index);
  if (known === undefined) calls.set(piece.index, structuredClone(piece));
  else known.function.arguments += piece.function.arguments;
}

function envelope({ responseId, model }: AnswerOptions, object: string): object {
  const created = Math.floor(Date.now() / 1000);
  return {
    id: `chatcmpl-${responseId}`,
    object,
    created,
    model,
    service_tier: 'default',
    system_fingerprint: 'fp_caribou_demo',
  };
}

/** Sends one JSON answer and stores its status in the record. */
export function sendJson(res: ServerResponse, status: number, body: unknown, record?: LiveRecord): void {
  if (record !== undefined) record.status = status;
  const text = JSON.stringify(body);
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  res.end(text);
}
