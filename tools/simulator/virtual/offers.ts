import { type Handoffs, LastTakers, type Offer, type OfferAnswer, type OfferIntake } from '@caribou/bus';
import { DeadlineError, runnerOffersSubject, TURN_OFFERS, UnavailableError } from '@caribou/contracts';
import type { SimBus } from './bus.js';
import type { SimProcess } from './scheduler.js';

const ANSWER_WITHIN_MS = 1_000;

type ReceivedAnswer = OfferAnswer & { readonly runner: string };

/** What each process knows, as long as it runs. */
const takersByProcess = new WeakMap<SimProcess, LastTakers>();

function takersOf(process: SimProcess): LastTakers {
  const takers = takersByProcess.get(process) ?? new LastTakers();
  takersByProcess.set(process, takers);
  return takers;
}

/** The offers of runs with the connection of one process; they are lost, late and doubled as all requests are. */
export function handoffsOf(bus: SimBus, process: SimProcess): Handoffs {
  const send = bus.requestOf(process);
  const takers = takersOf(process);
  const ask = async (offer: Offer, subject: string): Promise<ReceivedAnswer | 'nobody' | 'late'> => {
    const payload = new TextEncoder().encode(JSON.stringify({ data: offer }));
    try {
      const reply = await send(subject, payload, { timeoutMs: ANSWER_WITHIN_MS });
      const { response } = JSON.parse(new TextDecoder().decode(reply)) as { readonly response?: ReceivedAnswer };
      takers.note(offer.thread, response?.taken === true ? response.runner : undefined);
      return response ?? 'nobody';
    } catch (error) {
      takers.note(offer.thread, undefined);
      if (error instanceof UnavailableError) return 'nobody';
      if (error instanceof DeadlineError) return 'late';
      throw error;
    }
  };
  const address = process.name;
  return {
    offerTurn: async (offer) => {
      const answer = await ask(offer, TURN_OFFERS);
      if (typeof answer === 'string') return answer;
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
      if (answer === 'late') return 'late';
      return answer === 'nobody' ? undefined : answer.begun;
    },
    noteCreated: (thread) => takers.noteCreated(thread),
    takeOffers: (handle): OfferIntake => ({
      open: (isOpen) => {
        const serve = async (offer: unknown): Promise<ReceivedAnswer> => ({
          ...(await handle(offer as Offer)),
          runner: address,
        });
        for (const subject of [TURN_OFFERS, runnerOffersSubject(address)]) {
          bus.stopServing(process, subject);
          if (isOpen) bus.serve(process, subject, serve);
        }
      },
    }),
  };
}
