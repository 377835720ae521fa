import { omitUndefined } from '@caribou/contracts';
import { z } from 'zod';
import type { OfferAnswer } from '../connection/handoff-port.js';

const Begun = z.object({
  created_at: z.string(),
  ordinal: z.string(),
  state_bytes: z.number(),
  in_flight: z.number(),
});
/** `runner`: the address at which that runner takes offers; absent from earlier versions. */
const Answer = z.object({ taken: z.boolean(), runner: z.string().optional(), begun: Begun.optional() });

export interface ReceivedAnswer extends OfferAnswer {
  readonly runner?: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeAnswer({ taken, begun }: OfferAnswer, runner: string): Uint8Array {
  const decided = begun && {
    created_at: begun.createdAt,
    ordinal: begun.ordinal,
    state_bytes: begun.stateBytes,
    in_flight: begun.inFlight,
  };
  return encoder.encode(JSON.stringify({ taken, runner, begun: decided }));
}

/** Parses an answer, whatever its version; one that cannot be read refuses. */
export function decodeAnswer(data: Uint8Array): ReceivedAnswer {
  const answer = Answer.safeParse(JSON.parse(decoder.decode(data)));
  if (!answer.success) return { taken: false };
  const { taken, runner, begun } = answer.data;
  const decided = begun && {
    createdAt: begun.created_at,
    ordinal: begun.ordinal,
    stateBytes: begun.state_bytes,
    inFlight: begun.in_flight,
  };
  return { taken, ...omitUndefined({ runner, begun: decided }) };
}
