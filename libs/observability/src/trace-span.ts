/** What spans say: words and numbers of a closed kind, never what a person or a model wrote. */
export type SpanFields = Readonly<Record<string, string | number | boolean>>;

/** The same seam as core's Span: core is a neighbour, so it is spelled out here and a test holds the two together. */
export interface TraceSpan {
  /** This span as the parent of what another process does, in the form of W3C Trace Context. */
  readonly traceparent: string;
  /** @param startMs since the Unix epoch, with fractions; the present when absent */
  child(name: string, fields?: SpanFields, startMs?: number): TraceSpan;
  event(name: string, fields?: SpanFields, atMs?: number): void;
  /** Once. An error is told by its class alone. */
  end(end?: { readonly fields?: SpanFields; readonly error?: unknown; readonly endMs?: number }): void;
}

export interface SpanStart {
  /** `server`: a request came in; `consumer`: what was stored earlier is carried out. */
  readonly kind: 'server' | 'consumer';
  /** A `traceparent`; without a lawful one a trace begins. */
  readonly parent?: string | null | undefined;
  readonly fields?: SpanFields;
}

export interface Tracing {
  /** Whether spans are recorded; otherwise they only carry their trace on. */
  readonly on: boolean;
  start(name: string, options: SpanStart): TraceSpan;
  /** Sends what is left, for at most `timeoutMs`. Never rejects: what cannot be sent is logged and lost. */
  close(timeoutMs: number): Promise<void>;
}

/** Where lost spans are told. */
export interface TraceLogger {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface TracingOptions {
  readonly service: string;
  /** Base URL of an OTLP/HTTP collector; without one nothing is recorded, and no package for it is loaded. */
  readonly endpoint: string | undefined;
  readonly logger: TraceLogger;
}
