import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { ModelApiError } from '../../demo-model/api-error.js';
import { chooseReply, countInput } from '../../demo-model/choose-reply.js';
import { readBody } from '../../demo-model/completions.js';
import type { Control, LiveRecord } from '../../demo-model/control.js';
import { sendAnswer, sendHttpAnswer } from './answer.js';
import { FAULT_KINDS, type Problem } from './problem.js';
import { Refusal } from './refusal.js';
import type { CheckedRequest, HttpAnswer, InputTokens, TokenCounts, Vendor } from './vendor.js';

export interface ExchangeContext {
  vendor: Vendor;
  control: Control;
  apiKey: string | undefined;
  /** The only models there are; absent: any. */
  models: ReadonlySet<string> | undefined;
  /** The most input tokens that a request may have; absent: any. */
  contextTokens: number | undefined;
  cutSeed: number | undefined;
  nextResponseId(): string;
  /** A problem that the next request meets, whatever it says. */
  takeProblem(): Problem | undefined;
  onRequest(record: LiveRecord, path: string, headers: IncomingHttpHeaders): void;
  onRefusal(record: LiveRecord, rule: string, answer: HttpAnswer): void;
  onIgnored(record: LiveRecord, fields: readonly string[]): void;
  onUsage(model: string, usage: TokenCounts): void;
}

const FAULTS: ReadonlySet<string> = new Set([...FAULT_KINDS, 'stop']);

/** Handles one request for an answer and records it. */
export async function exchange(req: IncomingMessage, res: ServerResponse, context: ExchangeContext): Promise<void> {
  const raw = await readBody(req);
  const record = context.control.record(raw);
  const url = new URL(req.url ?? '/', 'http://replay.invalid');
  context.onRequest(record, url.pathname, req.headers);
  const left = new AbortController();
  res.once('close', () => {
    record.closedByClient = !record.finished;
    left.abort();
  });
  try {
    refuseByKey(req, context);
    const request = {
      path: url.pathname,
      query: url.searchParams,
      headers: req.headers,
      body: parse(raw, context.vendor),
    };
    const checked = context.vendor.check(request);
    context.onIgnored(record, checked.ignored ?? []);
    const input = checked.input ?? { total: countInput(checked.chat), cached: 0, cacheWritten: 0 };
    refuseByLimits(checked, input, context);
    await reply(res, checked, { ...context, record, input, signal: left.signal });
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    record.finished = true;
    context.onRefusal(record, cause.rule, cause.answer);
    sendHttpAnswer(res, cause.answer, record);
  }
}

async function reply(
  res: ServerResponse,
  checked: CheckedRequest,
  context: ExchangeContext & { record: LiveRecord; input: InputTokens; signal: AbortSignal },
): Promise<void> {
  const { vendor, control } = context;
  const responseId = context.nextResponseId();
  const callId = (index: number): string => vendor.callId(responseId, index);
  await sendAnswer(res, chosen(checked, { control, responseId, callId, faults: FAULTS }, vendor), {
    ...context,
    checked,
    renderer: checked.createRenderer(responseId),
    onUsage: (usage) => context.onUsage(checked.chat.model, usage),
  });
}

function chosen(
  { chat }: CheckedRequest,
  context: Parameters<typeof chooseReply>[1],
  vendor: Vendor,
): ReturnType<typeof chooseReply> {
  try {
    return chooseReply(chat, context);
  } catch (cause) {
    if (!(cause instanceof ModelApiError)) throw cause;
    const { code } = cause.detail;
    throw refusalOf(vendor, {
      kind: 'status',
      status: cause.status,
      message: cause.message,
      ...(code ? { code } : {}),
    });
  }
}

/** @throws Refusal when the next request is to fail, or has not the right key. */
function refuseByKey(req: IncomingMessage, context: ExchangeContext): void {
  const { vendor, apiKey } = context;
  const problem = context.takeProblem();
  if (problem !== undefined) throw refusalOf(vendor, problem);
  if (apiKey !== undefined && !vendor.authorized(req.headers, apiKey)) throw refusalOf(vendor, { kind: 'wrong-key' });
}

function refuseByLimits({ chat }: CheckedRequest, input: InputTokens, context: ExchangeContext): void {
  const { vendor, models, contextTokens } = context;
  if (models !== undefined && !models.has(chat.model))
    throw refusalOf(vendor, { kind: 'model-gone', model: chat.model });
  if (contextTokens === undefined || input.total <= contextTokens) return;
  throw refusalOf(vendor, { kind: 'context-overflow', tokens: input.total, limit: contextTokens });
}

function parse(raw: string, vendor: Vendor): unknown {
  try {
    return JSON.parse(raw);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw refusalOf(vendor, { kind: 'unreadable-body', message: cause.message });
  }
}

/** The refusal of a request for a problem that is no rule of the vendor about its content. */
export function refusalOf(vendor: Vendor, problem: Problem): Refusal {
  const answer = vendor.refuse(problem);
  if (answer === undefined) throw new Error(`the vendor reports "${problem.kind}" only in a stream`);
  return new Refusal(problem.kind, answer);
}
