import type { IncomingMessage, ServerResponse } from 'node:http';
import { answer, type ReportedTokens } from './answer.js';
import { ModelApiError } from './api-error.js';
import { chooseReply, countInput } from './choose-reply.js';
import type { Control } from './control.js';
import { type ChatRequest, checkChatRequest } from './request-check.js';

const MAX_BODY_BYTES = 64 * 1024 * 1024;

export interface CompletionContext {
  control: Control;
  apiKey: string | undefined;
  constantCallId: string | undefined;
  cachedShare: number;
  onAnswered: ((request: ChatRequest, tokens: ReportedTokens) => void) | undefined;
  /** A new id, unlike those of any other process. */
  nextResponseId(): string;
}

/**
 * Handles `POST /v1/chat/completions`, streaming or not, and records it.
 *
 * @throws ModelApiError for a request OpenAI would refuse; nothing has been sent then.
 */
export async function complete(req: IncomingMessage, res: ServerResponse, context: CompletionContext): Promise<void> {
  const raw = await readBody(req);
  const record = context.control.record(raw);
  const left = new AbortController();
  res.once('close', () => {
    record.closedByClient = !record.finished;
    left.abort();
  });
  try {
    checkKey(req, context.apiKey);
    const request = checkChatRequest(parse(raw));
    const responseId = context.nextResponseId();
    const { control, constantCallId } = context;
    await answer(res, chooseReply(request, { control, responseId, constantCallId }), {
      responseId,
      model: request.model,
      stream: request.stream === true,
      includeUsage: request.stream_options?.include_usage === true,
      inputTokens: countInput(request),
      cachedShare: context.cachedShare,
      onAnswered: (tokens) => context.onAnswered?.(request, tokens),
      control,
      record,
      signal: left.signal,
    });
  } catch (cause) {
    if (cause instanceof ModelApiError) {
      record.status = cause.status;
      record.finished = true;
    }
    throw cause;
  }
}

/**
 * The body of a request as text.
 *
 * @throws ModelApiError 413 above 64 MiB.
 */
export async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new ModelApiError(413, `the request body is over ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function checkKey(req: IncomingMessage, apiKey: string | undefined): void {
  if (apiKey === undefined || req.headers.authorization === `Bearer ${apiKey}`) return;
  throw new ModelApiError(401, 'Incorrect API key provided.', { code: 'invalid_api_key' });
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new ModelApiError(400, 'We could not parse the JSON body of your request.');
  }
}
