import {
  type AskRunner,
  createTurnOffers,
  type Handoffs,
  type Offer,
  type OfferAnswer,
  type TurnOffers,
} from '@caribou/bus';
import { DeadlineError, runnerOffersSubject, TURN_OFFERS, UnavailableError } from '@caribou/contracts';
import type { SimBus } from './bus.js';
import type { SimProcess } from './scheduler.js';

const ANSWER_WITHIN_MS = 1_000;

type ReceivedAnswer = OfferAnswer & { readonly runner: string };

/** What each process offers and remembers, as long as it runs. */
const offersByProcess = new WeakMap<SimProcess, TurnOffers>();

function offersOf(bus: SimBus, process: SimProcess): TurnOffers {
  const known = offersByProcess.get(process);
  if (known !== undefined) return known;
  const send = bus.requestOf(process);
  const ask: AskRunner = async (offer, subject) => {
    const payload = new TextEncoder().encode(JSON.stringify({ data: offer }));
    try {
      const reply = await send(subject, payload, { timeoutMs: ANSWER_WITHIN_MS });
      const { response } = JSON.parse(new TextDecoder().decode(reply)) as { readonly response?: ReceivedAnswer };
      return response ?? 'nobody';
    } catch (error) {
      if (error instanceof UnavailableError) return 'nobody';
      if (error instanceof DeadlineError) return 'late';
      throw error;
    }
  };
  const offers = createTurnOffers(ask);
  offersByProcess.set(process, offers);
  return offers;
}

/** The offers of runs with the connection of one process; they are lost, late and doubled as all requests are. */
export function handoffsOf(bus: SimBus, process: SimProcess): Handoffs {
  const address = process.name;
  return {
    ...offersOf(bus, process),
    takeOffers: (handle) => ({
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
