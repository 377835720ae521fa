import { DeadlineError, TURN_OFFERS, TURN_TAKERS, UnavailableError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { Msg } from 'nats';
import { z } from 'zod';
import type { HandoffOutcome, Handoffs, Offer, OfferIntake, Unsubscribe } from '../connection/bus.js';
import type { NatsLink } from '../connection/nats-link.js';
import type { SendRequest } from '../rpc/rpc-client.js';
import { decodeOffer, encodeOffer } from './offer-message.js';

/** Time for a runner to claim the thread, in milliseconds; a claim takes a few. */
const ANSWER_WITHIN_MS = 1_000;

const Answer = z.object({ taken: z.boolean() });

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Gives a thread directly to a runner with a free slot. The server chooses one of those that are subscribed. */
export function createHandoffs(link: NatsLink, send: SendRequest, logger: Logger): Handoffs {
  return {
    offerTurn: async (offer) => {
      if (!link.connected) return 'nobody';
      try {
        const reply = await send(TURN_OFFERS, encodeOffer(offer), { timeoutMs: ANSWER_WITHIN_MS });
        return readAnswer(reply);
      } catch (error) {
        if (error instanceof UnavailableError) return 'nobody';
        if (error instanceof DeadlineError) return 'late';
        throw error;
      }
    },
    takeOffers: (handle) => new Intake(link, (message) => void answer(message, handle, { link, logger })),
  };
}

function readAnswer(data: Uint8Array): HandoffOutcome {
  const answer = Answer.safeParse(JSON.parse(decoder.decode(data)));
  return answer.data?.taken === true ? 'taken' : 'refused';
}

async function answer(
  { data, reply }: Msg,
  handle: (offer: Offer) => Promise<boolean>,
  { link, logger }: { readonly link: NatsLink; readonly logger: Logger },
): Promise<void> {
  const { session } = link;
  const offer = decodeOffer(data);
  if (offer === undefined) logger.warn({}, 'nats: an offer that names no thread is refused');
  const taken = offer !== undefined && (await handle(offer));
  // The gateway does not wait for an answer that was lost with the connection: it puts the thread into the queue.
  const isHeard = link.connected && link.session === session;
  if (reply !== undefined && isHeard) link.connection.publish(reply, encoder.encode(JSON.stringify({ taken })));
}

/** The subscription of a process that is only there while the process takes offers. */
class Intake implements OfferIntake {
  private unsubscribe: Unsubscribe | undefined;

  constructor(
    private readonly link: NatsLink,
    private readonly onOffer: (message: Msg) => void,
  ) {}

  open(isOpen: boolean): void {
    if (isOpen) this.unsubscribe ??= this.link.subscribe(TURN_OFFERS, this.onOffer, { queue: TURN_TAKERS });
    else {
      this.unsubscribe?.();
      this.unsubscribe = undefined;
    }
  }
}
