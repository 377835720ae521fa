import { isRecord, omitUndefined, RunId, type RunKwargs } from '@caribou/contracts';
import type { OfferedAdmission } from '@caribou/core';
import { z } from 'zod';
import type { Offer } from '../connection/handoff-port.js';
import { jsonOrUndefined, keyOf, Thread, VERSION } from './wake-message.js';

/** A larger run is left out: its runner reads it from the store. */
const MAX_BYTES = 64 * 1024;

/** The gateway has checked the kwargs, and the store has the same ones. */
const Kwargs = z.custom<RunKwargs>(isRecord);
const Metadata = z.custom<Readonly<Record<string, unknown>>>(isRecord);
const Admission = z.object({
  is_new: z.boolean(),
  assistant_id: z.string(),
  agent: z.string(),
  metadata: Metadata,
  strategy: z.string(),
  api_key: z.string().optional(),
  traceparent: z.string().optional(),
  asked: z.object({ process: z.string(), request: z.string() }).optional(),
  limits: z.object({ in_flight: z.number(), state_bytes: z.number(), stored_bytes: z.number() }),
});
const Run = z.object({
  run_id: RunId,
  kwargs: Kwargs,
  head_id: z.string().nullable(),
  admission: Admission.optional(),
});
const Payload = Thread.extend({ run: z.unknown().optional() });

const encoder = new TextEncoder();

export function encodeOffer({ thread, run }: Offer): Uint8Array {
  const named = { user_id: thread.userId, thread_id: thread.threadId, v: VERSION };
  if (run === undefined) return encode(named);
  const admission = run.admission && encodeAdmission(run.admission);
  const whole = encode({ ...named, run: { run_id: run.runId, kwargs: run.kwargs, head_id: run.headId, admission } });
  return whole.length > MAX_BYTES ? encode(named) : whole;
}

const encode = (payload: object): Uint8Array => encoder.encode(JSON.stringify(payload));

const encodeAdmission = ({ limits, ...rest }: OfferedAdmission): z.input<typeof Admission> => ({
  ...{ is_new: rest.isNew, assistant_id: rest.assistantId, agent: rest.agent, metadata: rest.metadata },
  ...{ strategy: rest.strategy, api_key: rest.apiKey, traceparent: rest.traceparent, asked: rest.asked },
  limits: { in_flight: limits.inFlight, state_bytes: limits.stateBytes, stored_bytes: limits.storedBytes },
});

const decodeAdmission = ({ limits, ...rest }: z.output<typeof Admission>): OfferedAdmission => ({
  ...{ isNew: rest.is_new, assistantId: rest.assistant_id, agent: rest.agent, metadata: rest.metadata },
  strategy: rest.strategy,
  ...omitUndefined({ apiKey: rest.api_key, traceparent: rest.traceparent, asked: rest.asked }),
  limits: { inFlight: limits.in_flight, stateBytes: limits.state_bytes, storedBytes: limits.stored_bytes },
});

/** Parses an offer, whatever its version; undefined when it names no thread. What it says of the run may be absent or unknown. */
export function decodeOffer(data: Uint8Array): Offer | undefined {
  const payload = Payload.safeParse(jsonOrUndefined(data));
  if (!payload.success) return undefined;
  const thread = keyOf(payload.data);
  const run = Run.safeParse(payload.data.run);
  if (!run.success) return { thread };
  const { run_id: runId, kwargs, head_id: headId, admission } = run.data;
  return { thread, run: { runId, kwargs, headId, ...(admission && { admission: decodeAdmission(admission) }) } };
}
