/** Fields of a span: identifiers and numbers, never texts of users or models. */
export type SpanFields = Readonly<Record<string, string | number | boolean | string[]>>;

/** The same interface as core's Span, repeated because this library may not import core; a test compares the two. */
export interface TraceSpan {
  /** This span as the parent of spans of another process, in W3C Trace Context format. */
  readonly traceparent: string;
  /** @param startMs time since the Unix epoch, with fractions; default: now @param kind `client`: a request to another system */
  child(name: string, fields?: SpanFields, startMs?: number, kind?: 'client'): TraceSpan;
  event(name: string, fields?: SpanFields, atMs?: number): void;
  /** Ends the span; must be called once. Only the class of an error is recorded. */
  end(end?: { readonly fields?: SpanFields; readonly error?: unknown; readonly endMs?: number }): void;
}

export interface SpanStart {
  /** `server` handles a request; `consumer` executes work that was stored earlier. */
  readonly kind: 'server' | 'consumer';
  /** A `traceparent` header; without a valid one a new trace begins. */
  readonly parent?: string | null | undefined;
  readonly fields?: SpanFields;
}

export interface Tracing {
  /** Whether spans are recorded; otherwise they only pass on their trace. */
  readonly on: boolean;
  start(name: string, options: SpanStart): TraceSpan;
  /** Sends the queued spans for at most `timeoutMs`. Never rejects; spans that cannot be sent are dropped with a warning. */
  close(timeoutMs: number): Promise<void>;
}

/** Logs spans that could not be sent. */
export interface TraceLogger {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface TracingOptions {
  readonly service: string;
  /** Base URL of an OTLP/HTTP collector; without one nothing is recorded and no SDK is loaded. */
  readonly endpoint: string | undefined;
  readonly logger: TraceLogger;
}
