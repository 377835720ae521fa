import { randomFillSync } from 'node:crypto';

/** A position in a distributed trace in W3C Trace Context format: lower-case hex of 16 and 8 bytes. */
export interface Trace {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

const MAX_HEADER = 512;
const layout = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses a `traceparent` header; returns undefined when it is absent or violates W3C Trace Context §3.2. */
export function parseTraceparent(header: string | undefined): Trace | undefined {
  const match = layout.exec(header?.slice(0, MAX_HEADER).trim() ?? '');
  if (match === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', rest] = match;
  const valid = version === '00' ? rest === undefined : version !== 'ff';
  if (!valid || isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

const isZero = (id: string): boolean => /^0+$/.test(id);

/** Starts a new trace. */
export const newTrace = (): Trace => ({ traceId: hex(16), spanId: hex(8), sampled: true });

/** Creates the ids of the next span of the same trace. */
export const childOf = (parent: Trace): Trace => ({ ...parent, spanId: hex(8) });

/** Formats the trace as a `traceparent` header. */
export const toTraceparent = ({ traceId, spanId, sampled }: Trace): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;

/** Random bytes of many ids: to ask for those of one takes longer than all other work on it. */
const random = Buffer.alloc(4_096);
let used = random.length;

/** Generates a random id. The standard forbids one that is all zeros. */
function hex(bytes: 8 | 16): string {
  if (used + bytes > random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += bytes;
  const id = random.toString('hex', used - bytes, used);
  return isZero(id) ? hex(bytes) : id;
}
