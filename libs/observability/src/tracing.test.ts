import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Span } from '@caribou/core';
import { type OtlpReceiver, startOtlpReceiver, waitFor } from '@caribou/testing';
import { createTracing, parseTraceparent, noopTracing, type TraceSpan } from './index.js';

const caller = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

describe('without a collector', () => {
  test('an incoming trace is continued, otherwise a new one begins, and no OpenTelemetry SDK is loaded', async () => {
    const warn = jest.fn();
    const tracing = await createTracing({ service: 'gateway', endpoint: undefined, logger: { warn } });
    const span = tracing.start('x', { kind: 'server', parent: caller });
    const other = tracing.start('x', { kind: 'server', parent: 'broken' });

    expect(tracing).toBe(noopTracing);
    expect(span.traceparent).toMatch(/^00-a{32}-(?!b{16})[0-9a-f]{16}-01$/);
    expect(parseTraceparent(other.traceparent)?.traceId).not.toBe('a'.repeat(32));
    expect(span.child('y').traceparent).toBe(span.traceparent);
    expect(Object.keys(require.cache).filter((path) => /@opentelemetry.(sdk|exporter|otlp)/.test(path))).toEqual([]);
    await tracing.close(1);
  });
});

describe('with a collector', () => {
  let receiver: OtlpReceiver;
  beforeAll(async () => {
    receiver = await startOtlpReceiver();
  });
  afterAll(() => receiver.close());

  const warn = jest.fn();
  const open = (endpoint = `${receiver.url}/`) => createTracing({ service: 'gateway', endpoint, logger: { warn } });

  test('spans arrive with their parents, times, fields and events', async () => {
    const tracing = await open();
    const request = tracing.start('run.admit', { kind: 'server', parent: caller, fields: { 'caribou.run_id': 'r1' } });
    const run = tracing.start('invoke_agent', { kind: 'consumer', parent: request.traceparent });
    const hook: Span = run.child('title.afterModel', { ms: 2.5, on: true }, Date.UTC(2026, 0, 5));
    hook.event('named', { count: 3 }, Date.UTC(2026, 0, 5) + 1);
    hook.end({ endMs: Date.UTC(2026, 0, 5) + 2, fields: { more: 'x' } });
    run.end({ error: new TypeError('what a person wrote') });
    request.end();
    await tracing.close(5_000);

    const [first, second, third] = receiver.spans;
    expect(receiver.spans).toHaveLength(3);
    expect(first).toMatchObject({
      service: 'caribou-gateway',
      name: 'title.afterModel',
      kind: 1,
      parentSpanId: second?.spanId,
      failed: false,
      startMs: Date.UTC(2026, 0, 5),
      endMs: Date.UTC(2026, 0, 5) + 2,
      fields: { ms: 2.5, on: true, more: 'x' },
      events: [{ name: 'named', fields: { count: 3 } }],
    });
    expect(second).toMatchObject({
      name: 'invoke_agent',
      kind: 5,
      parentSpanId: third?.spanId,
      failed: true,
      fields: { 'error.type': 'TypeError' },
    });
    expect(third).toMatchObject({
      name: 'run.admit',
      kind: 2,
      parentSpanId: 'b'.repeat(16),
      traceId: 'a'.repeat(32),
      fields: { 'caribou.run_id': 'r1' },
    });
    expect(third?.traceId).toBe(parseTraceparent(request.traceparent)?.traceId);
    expect(receiver.text()).not.toContain('what a person wrote');
    expect(warn).not.toHaveBeenCalled();
  });

  test('a trace that its caller does not sample is not recorded, and its sampling flag is passed on', async () => {
    const before = receiver.spans.length;
    const tracing = await open();
    const span: TraceSpan = tracing.start('x', { kind: 'server', parent: caller.replace(/01$/, '00') });
    span.end();
    await tracing.close(5_000);

    expect(span.traceparent).toMatch(/^00-a{32}-[0-9a-f]{16}-00$/);
    expect(receiver.spans).toHaveLength(before);
  });

  test('fields and events of a span are limited, and texts are cut', async () => {
    const tracing = await open();
    const span = tracing.start('full', { kind: 'server', fields: { text: 'x'.repeat(5_000) } });
    for (let index = 0; index < 200; index += 1) span.event('again');
    span.end();
    await tracing.close(5_000);

    const full = receiver.spans.find(({ name }) => name === 'full');
    expect(full?.events).toHaveLength(64);
    expect(full?.fields['text']).toBe('x'.repeat(200));
  });

  test('a collector that refuses is one warning, which shows no password', async () => {
    const server = await answering((response) => void response.writeHead(400).end('no'));
    const tracing = await open(server.url.replace('http://', 'http://user:password@'));
    tracing.start('lost', { kind: 'server' }).end();
    await tracing.close(5_000);
    await server.close();

    expect(warn).toHaveBeenCalledWith(
      expect.objectContaining({ event: 'trace.export' }),
      'spans could not be exported',
    );
    expect(JSON.stringify(warn.mock.calls)).not.toContain('password');
  });

  test('a collector that does not answer delays nothing past the deadline', async () => {
    let release = (): void => undefined;
    const server = await answering((response) => {
      release = () => void response.end('{}');
    });
    const tracing = await open(server.url);
    tracing.start('slow', { kind: 'server' }).end();
    await tracing.close(50);

    expect(warn).toHaveBeenLastCalledWith(
      { event: 'trace.export', outcome: 'limit', timeoutMs: 50 },
      'spans could not be exported',
    );
    await waitFor(() => server.asked() > 0, { what: 'the request' });
    release();
    await tracing.close(5_000);
    await server.close();
  });
});

async function answering(answer: (response: ServerResponse) => void) {
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.resume();
    answer(response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
