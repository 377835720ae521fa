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
import type { Handoffs, Offer, OfferAnswer, OfferIntake, Unsubscribe } from '../connection/bus.js';
import type { NatsLink } from '../connection/nats-link.js';
import type { SendRequest } from '../rpc/rpc-client.js';
import { decodeAnswer, encodeAnswer, type ReceivedAnswer } from './offer-answer.js';
import { decodeOffer, encodeOffer } from './offer-message.js';
import { LastTakers } from './last-takers.js';

/** Time for a runner to claim the thread, in milliseconds; a claim takes a few. */
const ANSWER_WITHIN_MS = 1_000;

/** Gives a thread directly to a runner with a free slot. The server chooses one of those that are subscribed, unless one took the thread before. */
export function createHandoffs(link: NatsLink, send: SendRequest, logger: Logger): Handoffs {
  const takers = new LastTakers();
  const ask = async (offer: Offer, subject: string): Promise<ReceivedAnswer | 'nobody' | 'lost' | 'late'> => {
    if (!link.connected) return 'nobody';
    try {
      const answer = decodeAnswer(await send(subject, encodeOffer(offer), { timeoutMs: ANSWER_WITHIN_MS }));
      takers.note(offer.thread, answer.taken ? answer.runner : undefined);
      return answer;
    } catch (error) {
      takers.note(offer.thread, undefined);
      if (error instanceof UnavailableError) return error.details['noEffect'] === true ? 'nobody' : 'lost';
      if (error instanceof DeadlineError) return 'late';
      throw error;
    }
  };
  return {
    offerTurn: async (offer) => {
      const answer = await ask(offer, TURN_OFFERS);
      if (typeof answer === 'string') return answer === 'lost' ? 'nobody' : answer;
      return answer.taken ? 'taken' : 'refused';
    },
    beginsAs: (thread) => {
      const taker = takers.of(thread);
      return taker === null ? 'new' : taker === undefined ? undefined : 'held';
    },
    beginTurn: async (offer) => {
      const taker = takers.of(offer.thread);
      if (taker === undefined) return undefined;
      const answer = await ask(offer, taker === null ? TURN_OFFERS : runnerOffersSubject(taker));
      if (answer === 'late') takers.noteLate();
      if (answer === 'late' || answer === 'lost') return 'late';
      return answer === 'nobody' ? undefined : answer.begun;
    },
    noteCreated: (thread) => takers.noteCreated(thread),
    takeOffers: (handle) => new Intake(link, handle, logger),
  };
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
