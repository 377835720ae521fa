import fc from 'fast-check';
import { childOf, newTrace, parseTraceparent, toTraceparent } from './index.js';

describe('traceparent', () => {
  test('a formatted trace is parsed again, and a child has the same trace and another span', () => {
    const trace = newTrace();
    expect(parseTraceparent(toTraceparent(trace))).toEqual(trace);
    expect(childOf(trace)).toMatchObject({ traceId: trace.traceId, sampled: true });
    expect(childOf(trace).spanId).not.toBe(trace.spanId);
  });

  test('no two of many traces and spans have the same id', () => {
    const traces = Array.from({ length: 2_000 }, () => newTrace());
    expect(
      new Set(traces.flatMap(({ traceId, spanId }) => [traceId.slice(0, 16), traceId.slice(16), spanId])).size,
    ).toBe(6_000);
    expect(traces.every((trace) => parseTraceparent(toTraceparent(trace)) !== undefined)).toBe(true);
  });

  test('an invalid header is not a trace', () => {
    const id = 'a'.repeat(32);
    const broken = [
      undefined,
      '',
      `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
      `00-${id}-${'0'.repeat(16)}-01`,
      `ff-${id}-${'b'.repeat(16)}-01`,
      `00-${id}-${'b'.repeat(16)}-01-extra`,
      `00-${id.toUpperCase()}-${'b'.repeat(16)}-01`,
    ];
    expect(broken.map(parseTraceparent)).toEqual(broken.map(() => undefined));
  });

  test('the first four parts of a later version are parsed', () => {
    const header = `cc-${'a'.repeat(32)}-${'b'.repeat(16)}-00-what-comes`;
    expect(parseTraceparent(header)).toEqual({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: false });
  });

  test('no text makes it throw', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        parseTraceparent(header);
      }),
    );
  });
});
