import {
  DeadlineError,
  newId,
  runnerOffersSubject,
  TURN_OFFERS,
  TURN_TAKERS,
  UnavailableError,
} from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { Msg } from 'nats';
import type { Unsubscribe } from '../connection/bus.js';
import type { Handoffs, Offer, OfferAnswer, OfferIntake } from '../connection/handoff-port.js';
import type { NatsLink } from '../connection/nats-link.js';
import type { SendRequest } from '../rpc/rpc-client.js';
import { decodeAnswer, encodeAnswer } from './offer-answer.js';
import { decodeOffer, encodeOffer } from './offer-message.js';
import { type AskRunner, createTurnOffers } from './turn-offers.js';

/** Time for a runner to claim the thread, in milliseconds; a claim takes a few. */
const ANSWER_WITHIN_MS = 1_000;

/** Gives a thread directly to a runner with a free slot. The server chooses one of those that are subscribed, unless one took the thread before. */
export function createHandoffs(link: NatsLink, send: SendRequest, logger: Logger): Handoffs {
  const ask: AskRunner = async (offer, subject) => {
    if (!link.connected) return 'nobody';
    try {
      return decodeAnswer(await send(subject, encodeOffer(offer), { timeoutMs: ANSWER_WITHIN_MS }));
    } catch (error) {
      if (error instanceof UnavailableError) return error.details['noEffect'] === true ? 'nobody' : 'lost';
      if (error instanceof DeadlineError) return 'late';
      throw error;
    }
  };
  return { ...createTurnOffers(ask), takeOffers: (handle) => new Intake(link, handle, logger) };
}

type HandleOffer = (offer: Offer) => Promise<OfferAnswer>;

/** The subscriptions of a process that are only there while the process takes offers. */
class Intake implements OfferIntake {
  private readonly address = newId();
  private subscribed: readonly Unsubscribe[] = [];

  constructor(
    private readonly link: NatsLink,
    private readonly handle: HandleOffer,
    private readonly logger: Logger,
  ) {}

  open(isOpen: boolean): void {
    if (isOpen === this.subscribed.length > 0) return;
    for (const unsubscribe of this.subscribed) unsubscribe();
    const onOffer = (message: Msg): void => void this.answer(message);
    this.subscribed = isOpen
      ? [
          this.link.subscribe(TURN_OFFERS, onOffer, { queue: TURN_TAKERS }),
          this.link.subscribe(runnerOffersSubject(this.address), onOffer),
        ]
      : [];
  }

  private async answer({ data, reply }: Msg): Promise<void> {
    const { link, logger } = this;
    const { session } = link;
    const offer = decodeOffer(data);
    if (offer === undefined) logger.warn({}, 'nats: an offer that names no thread is refused');
    const answer = offer === undefined ? { taken: false } : await this.handle(offer);
    // The gateway does not wait for an answer that was lost with the connection: it puts the thread into the queue.
    const isHeard = link.connected && link.session === session;
    if (reply !== undefined && isHeard) link.connection.publish(reply, encodeAnswer(answer, this.address));
  }
}
