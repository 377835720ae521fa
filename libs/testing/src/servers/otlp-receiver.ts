import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const Value = z.looseObject({
  stringValue: z.string().optional(),
  intValue: z.union([z.number(), z.string()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
});
const Attributes = z.array(z.object({ key: z.string(), value: Value })).default([]);
const Span = z.looseObject({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().default(''),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes: Attributes,
  events: z.array(z.looseObject({ name: z.string(), attributes: Attributes })).default([]),
  status: z.looseObject({ code: z.number().default(0) }).default({ code: 0 }),
});

/** The JSON of OTLP/HTTP 1.x, as far as tests read it. */
const Export = z.object({
  resourceSpans: z.array(
    z.looseObject({
      resource: z.looseObject({ attributes: Attributes }),
      scopeSpans: z.array(z.looseObject({ spans: z.array(Span) })),
    }),
  ),
});

type Fields = Readonly<Record<string, unknown>>;

export interface ReceivedSpan {
  readonly service: unknown;
  readonly name: string;
  /** OTLP's number: 1 internal, 2 server, 5 consumer. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  /** '' of a root. */
  readonly parentSpanId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly fields: Fields;
  readonly events: readonly { readonly name: string; readonly fields: Fields }[];
  readonly failed: boolean;
}

/** A collector of traces that stores them in memory. */
export interface OtlpReceiver {
  readonly url: string;
  /** Every span so far, in the order of arrival. */
  readonly spans: readonly ReceivedSpan[];
  /** Everything received, as text. */
  readonly text: () => string;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      bodies.push(body);
      if (request.url === '/v1/traces') spans.push(...spansOf(Export.parse(JSON.parse(body))));
      response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    text: () => bodies.join('\n'),
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const spansOf = ({ resourceSpans }: z.output<typeof Export>): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = fieldsOf(resource.attributes)['service.name'];
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => receivedSpan(span, service)));
  });

const receivedSpan = (span: z.output<typeof Span>, service: unknown): ReceivedSpan => ({
  service,
  name: span.name,
  kind: span.kind,
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId,
  startMs: toMs(span.startTimeUnixNano),
  endMs: toMs(span.endTimeUnixNano),
  fields: fieldsOf(span.attributes),
  events: span.events.map(({ name, attributes }) => ({ name, fields: fieldsOf(attributes) })),
  failed: span.status.code === 2,
});

/** Nanoseconds as milliseconds, to the microsecond. */
const toMs = (nanos: string): number => Number(BigInt(nanos) / 1000n) / 1000;

const fieldsOf = (attributes: z.output<typeof Attributes>): Fields =>
  Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => [
      key,
      stringValue ?? (intValue === undefined ? (doubleValue ?? boolValue) : Number(intValue)),
    ]),
  );
