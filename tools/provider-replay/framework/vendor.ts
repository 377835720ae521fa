import type { IncomingHttpHeaders } from 'node:http';
import type { Delta } from '../../demo-model/reply.js';
import type { ChatRequest } from '../../demo-model/request-check.js';
import type { IssuedExtras } from './issued-extras.js';
import type { Problem } from './problem.js';

/** A vendor's API: its name on the command line, and what makes its server. */
export interface VendorDefinition {
  readonly name: string;
  /** Opens one server's instance, which may store what it issued. */
  open(session: VendorSession): Vendor;
}

/** What one server hands to its vendor. */
export interface VendorSession {
  /** The opaque values issued by this server: signatures, encrypted reasoning. */
  readonly extras: IssuedExtras;
}

/** One server's side of a vendor's API. */
export interface Vendor {
  /** Path of the base URL that a client is given, such as `/v1`. */
  readonly basePath: string;
  /** The whole path that takes requests for answers, without its query. */
  readonly path: RegExp;
  /** Whether the request carries this key in the vendor's own header. */
  authorized(headers: IncomingHttpHeaders, apiKey: string): boolean;
  /**
   * Checks headers, query and body by the vendor's documentation.
   *
   * @throws Refusal with the vendor's own error body.
   */
  check(request: VendorRequest): CheckedRequest;
  /** The HTTP answer that the vendor documents for a problem; undefined when it begins to stream and reports it there. */
  refuse(problem: Problem): HttpAnswer | undefined;
  /** Stop reasons that only this vendor has, which a script can ask for by `#fault stop REASON`. */
  readonly stopReasons?: readonly string[];
  /** Names the tool call with this index of an answer in the vendor's form; `unique` differs for each answer. */
  callId(unique: string, index: number): string;
}

export interface VendorRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The parsed JSON. */
  readonly body: unknown;
}

/** A request that the vendor would accept. */
export interface CheckedRequest {
  /** The conversation in the form from which the scripted reply is chosen. */
  readonly chat: ChatRequest;
  readonly stream: boolean;
  /** What the vendor counts in the request; absent: characters / 4, nothing cached. */
  readonly input?: InputTokens;
  /** What the vendor accepts and does not read, such as `messages[1].reasoning_content`. */
  readonly ignored?: readonly string[];
  /** `responseId` is unique and [0-9a-z]. */
  createRenderer(responseId: string): Renderer;
}

/** Tokens of a request. `total` includes those read from the cache and those written to it. */
export interface InputTokens {
  readonly total: number;
  readonly cached: number;
  readonly cacheWritten: number;
}

/** Tokens of an answer. `output` includes `reasoning`. */
export interface TokenCounts {
  readonly input: InputTokens;
  readonly output: number;
  readonly reasoning: number;
}

export type EndReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'refusal';

export interface AnswerEnd {
  readonly reason: EndReason;
  /** The vendor's own stop reason that a script asked for; absent: that of `reason`. */
  readonly stopReason?: string;
  readonly usage: TokenCounts;
}

/** An HTTP answer with a JSON body. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * Writes one answer in the vendor's wire shape. Each string is one whole event of the stream, with the line breaks that end it.
 * Called in this order: `start`, `delta`…, then one of `finish` and `fail`. When the client did not ask for a stream, the events
 * are dropped and `body` follows `finish`.
 */
export interface Renderer {
  /** Headers of the stream besides its content type. */
  readonly headers?: Readonly<Record<string, string>>;
  start(): string[];
  delta(delta: Delta): string[];
  finish(end: AnswerEnd): string[];
  /** The events by which the vendor reports a problem after the answer has begun. */
  fail(problem: Problem): string[];
  /** The whole answer as the vendor sends it without streaming. */
  body(end: AnswerEnd): unknown;
}
