import fc from 'fast-check';
import { childOf, newTrace, parseTraceparent, toTraceparent } from './index.js';

describe('traceparent', () => {
  test('what is written is read back, and a child keeps the trace and changes the span', () => {
    const trace = newTrace();
    expect(parseTraceparent(toTraceparent(trace))).toEqual(trace);
    expect(childOf(trace)).toMatchObject({ traceId: trace.traceId, sampled: true });
    expect(childOf(trace).spanId).not.toBe(trace.spanId);
  });

  test('a header that breaks the standard is no trace', () => {
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

  test('a later version is read by its first four parts', () => {
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
