import {
  type Context,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace as traces,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider, type TracerConfig } from '@opentelemetry/sdk-trace-node';
import { redactText } from './redact.js';
import { parseTraceparent, toTraceparent } from './trace.js';
import type { SpanStart, TraceLogger, TraceSpan, Tracing, TracingOptions } from './trace-span.js';

/** Longest time a span waits for others to go out with it. */
const GATHER_MS = 2_000;
/** Longest time of one request to the collector. */
const EXPORT_TIMEOUT_MS = 5_000;
/** Spans that wait; more are dropped. */
const MAX_WAITING_SPANS = 4_096;
/** Attributes and events of one span; more are dropped. */
const MAX_PARTS = 64;
/** Longest text of an attribute, in UTF-16 code units. */
const MAX_TEXT = 200;

const kinds = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER } as const;

type Resource = NonNullable<TracerConfig['resource']>;

/**
 * Traces that go to a collector over OTLP/HTTP as JSON. Parents are handed on as values: nothing is registered
 * globally and no async hook is switched on, so code without spans pays nothing.
 * The packages themselves read further OTEL_EXPORTER_OTLP_* variables, such as HEADERS, from the environment.
 */
export function exportedTracing(options: TracingOptions & { readonly endpoint: string }): Tracing {
  const { service, endpoint, logger } = options;
  tellFaults(logger);
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new NodeTracerProvider({
    resource: resourceOf({ 'service.name': `caribou-${service}`, 'process.pid': process.pid }),
    spanLimits: { attributeCountLimit: MAX_PARTS, eventCountLimit: MAX_PARTS, attributeValueLengthLimit: MAX_TEXT },
    spanProcessors: [
      new BatchSpanProcessor(exporter, {
        scheduledDelayMillis: GATHER_MS,
        maxQueueSize: MAX_WAITING_SPANS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  const tracer = provider.getTracer('caribou');
  return {
    on: true,
    start: (name, { kind, parent, fields = {} }) => {
      const context = contextOf(parent);
      return spanOf(tracer, context, tracer.startSpan(name, { kind: kinds[kind], attributes: { ...fields } }, context));
    },
    close: (timeoutMs) => closeWithin(provider, timeoutMs, logger),
  };
}

function spanOf(tracer: Tracer, parent: Context, span: Span): TraceSpan {
  const context = traces.setSpan(parent, span);
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceparent: toTraceparent({ traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 }),
    child: (name, fields = {}, startMs) => {
      const attributes = { ...fields };
      const start = startMs === undefined ? {} : { startTime: startMs };
      return spanOf(tracer, context, tracer.startSpan(name, { attributes, ...start }, context));
    },
    event: (name, fields = {}, atMs) => void span.addEvent(name, { ...fields }, atMs),
    end: ({ fields, error, endMs } = {}) => {
      if (fields !== undefined) span.setAttributes({ ...fields });
      if (error !== undefined) {
        span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end(endMs);
    },
  };
}

function contextOf(parent: SpanStart['parent']): Context {
  const trace = parseTraceparent(parent ?? undefined);
  if (trace === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, sampled } = trace;
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return traces.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

/** Who sends the spans. The package that makes resources is no dependency of ours for these two fields. */
function resourceOf(attributes: Readonly<Record<string, string | number>>): Resource {
  const resource: Resource = {
    attributes,
    merge: (other) => (other === null ? resource : resourceOf({ ...attributes, ...known(other.attributes) })),
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}

const known = (attributes: Resource['attributes']): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(attributes).filter((entry): entry is [string, string | number] =>
      ['string', 'number'].includes(typeof entry[1]),
    ),
  );

/** Spans that could not be sent are one warning per request; anything else the packages say is not for people. */
function tellFaults(logger: TraceLogger): void {
  const tell = (message: string): void => {
    logger.warn(
      { event: 'trace.export', outcome: 'error', reason: redactText(message).slice(0, MAX_TEXT) },
      'spans lost',
    );
  };
  const silent = (): void => undefined;
  diag.setLogger(
    { error: tell, warn: tell, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

async function closeWithin(provider: NodeTracerProvider, timeoutMs: number, logger: TraceLogger) {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((done) => {
    timer = setTimeout(() => done('late'), timeoutMs);
  });
  try {
    const ended = await Promise.race([provider.shutdown(), late]);
    if (ended === 'late') logger.warn({ event: 'trace.export', outcome: 'limit', timeoutMs }, 'spans lost');
  } catch (error) {
    logger.warn({ event: 'trace.export', outcome: 'error', error }, 'spans lost');
  } finally {
    clearTimeout(timer);
  }
}
