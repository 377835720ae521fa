import { isRecord, RunId, type RunKwargs } from '@caribou/contracts';
import { z } from 'zod';
import type { Offer } from '../connection/bus.js';
import { jsonOrUndefined, keyOf, Thread, VERSION } from './wake-message.js';

/** A larger run is left out: its runner reads it from the store. */
const MAX_BYTES = 64 * 1024;

/** The gateway has checked the kwargs, and the store has the same ones. */
const Kwargs = z.custom<RunKwargs>(isRecord);
const Run = z.object({ run_id: RunId, kwargs: Kwargs, head_id: z.string().nullable() });
const Payload = Thread.extend({ run: z.unknown().optional() });

const encoder = new TextEncoder();

export function encodeOffer({ thread, run }: Offer): Uint8Array {
  const named = { user_id: thread.userId, thread_id: thread.threadId, v: VERSION };
  if (run === undefined) return encode(named);
  const whole = encode({ ...named, run: { run_id: run.runId, kwargs: run.kwargs, head_id: run.headId } });
  return whole.length > MAX_BYTES ? encode(named) : whole;
}

const encode = (payload: object): Uint8Array => encoder.encode(JSON.stringify(payload));

/** Parses an offer, whatever its version; undefined when it names no thread. What it says of the run may be absent or unknown. */
export function decodeOffer(data: Uint8Array): Offer | undefined {
  const payload = Payload.safeParse(jsonOrUndefined(data));
  if (!payload.success) return undefined;
  const thread = keyOf(payload.data);
  const run = Run.safeParse(payload.data.run);
  if (!run.success) return { thread };
  const { run_id: runId, kwargs, head_id: headId } = run.data;
  return { thread, run: { runId, kwargs, headId } };
}
