import { omitUndefined } from '@caribou/contracts';
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

/** Longest delay of a span until its batch is sent. */
const BUFFER_MS = 2_000;
/** Timeout of one request to the collector. */
const EXPORT_TIMEOUT_MS = 5_000;
/** Limit of queued spans; more are dropped. */
const MAX_WAITING_SPANS = 4_096;
/** Limit of attributes and of events of one span; more are dropped. */
const MAX_PARTS = 64;
/** Longest text of an attribute, in UTF-16 code units. */
const MAX_TEXT = 200;

const kinds = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT } as const;

type Resource = NonNullable<TracerConfig['resource']>;

/**
 * Sends traces to a collector over OTLP/HTTP as JSON. Parents are passed as values: nothing is registered globally and no
 * async hook is enabled, so code without spans has no overhead. The packages read further OTEL_EXPORTER_OTLP_* variables,
 * such as HEADERS, from the environment.
 */
export function createOtlpTracing(options: TracingOptions & { readonly endpoint: string }): Tracing {
  const { service, endpoint, logger } = options;
  logExportFaults(logger);
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const provider = new NodeTracerProvider({
    resource: resourceOf({ 'service.name': `caribou-${service}`, 'process.pid': process.pid }),
    spanLimits: { attributeCountLimit: MAX_PARTS, eventCountLimit: MAX_PARTS, attributeValueLengthLimit: MAX_TEXT },
    spanProcessors: [
      new BatchSpanProcessor(exporter, {
        scheduledDelayMillis: BUFFER_MS,
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
    child: (name, fields = {}, startMs, kind) => {
      const attributes = { ...fields };
      const start = omitUndefined({ startTime: startMs, kind: kind && kinds[kind] });
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

/** Describes the sender of the spans; two fields do not justify a dependency on the package for resources. */
function resourceOf(attributes: Readonly<Record<string, string | number>>): Resource {
  const resource: Resource = {
    attributes,
    merge: (other) => (other === null ? resource : resourceOf({ ...attributes, ...pickPrimitives(other.attributes) })),
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}

const pickPrimitives = (attributes: Resource['attributes']): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(attributes).filter((entry): entry is [string, string | number] =>
      ['string', 'number'].includes(typeof entry[1]),
    ),
  );

/** Logs one warning per request whose spans could not be sent, and ignores other messages of the packages. */
function logExportFaults(logger: TraceLogger): void {
  const warn = (message: string): void => {
    logger.warn(
      { event: 'trace.export', outcome: 'error', reason: redactText(message).slice(0, MAX_TEXT) },
      'spans could not be exported',
    );
  };
  const silent = (): void => undefined;
  diag.setLogger(
    { error: warn, warn, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

async function closeWithin(provider: NodeTracerProvider, timeoutMs: number, logger: TraceLogger) {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'timeout'>((done) => {
    timer = setTimeout(() => done('timeout'), timeoutMs);
  });
  try {
    const ended = await Promise.race([provider.shutdown(), timeout]);
    if (ended === 'timeout')
      logger.warn({ event: 'trace.export', outcome: 'limit', timeoutMs }, 'spans could not be exported');
  } catch (error) {
    logger.warn({ event: 'trace.export', outcome: 'error', error }, 'spans could not be exported');
  } finally {
    clearTimeout(timer);
  }
}
