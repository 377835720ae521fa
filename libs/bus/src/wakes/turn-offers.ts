import { runnerOffersSubject, TURN_OFFERS } from '@caribou/contracts';
import type { Handoffs, Offer } from '../connection/handoff-port.js';
import { LastTakers } from './last-takers.js';
import type { ReceivedAnswer } from './offer-answer.js';

/** The answer of the runner; `nobody`: none got the offer, `late` and `lost`: it may have, without an answer in time or with the connection. */
export type Asked = ReceivedAnswer | 'nobody' | 'late' | 'lost';

/** Sends an offer to a subject, and waits for the answer as long as a claim may take; rejects for defects only. */
export type AskRunner = (offer: Offer, subject: string) => Promise<Asked>;

export type TurnOffers = Omit<Handoffs, 'takeOffers'>;

/** Offers turns, and remembers who took them. */
export function createTurnOffers(askRunner: AskRunner): TurnOffers {
  const takers = new LastTakers();
  const ask: AskRunner = async (offer, subject) => {
    const answer = await askRunner(offer, subject);
    takers.note(offer.thread, typeof answer === 'object' && answer.taken ? answer.runner : undefined);
    return answer;
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
  };
}
