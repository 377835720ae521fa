import type { Handoffs, Offer, OfferIntake } from '@caribou/bus';
import { DeadlineError, TURN_OFFERS, UnavailableError } from '@caribou/contracts';
import type { SimBus } from './bus.js';
import type { SimProcess } from './scheduler.js';

const ANSWER_WITHIN_MS = 1_000;

interface Packet {
  readonly response?: { readonly taken: boolean };
}

/** The offers of runs with the connection of one process; they are lost, late and doubled as all requests are. */
export function handoffsOf(bus: SimBus, process: SimProcess): Handoffs {
  const send = bus.requestOf(process);
  return {
    offerTurn: async (offer) => {
      const payload = new TextEncoder().encode(JSON.stringify({ data: offer }));
      try {
        const reply = await send(TURN_OFFERS, payload, { timeoutMs: ANSWER_WITHIN_MS });
        const { response } = JSON.parse(new TextDecoder().decode(reply)) as Packet;
        return response?.taken === true ? 'taken' : 'refused';
      } catch (error) {
        if (error instanceof UnavailableError) return 'nobody';
        if (error instanceof DeadlineError) return 'late';
        throw error;
      }
    },
    takeOffers: (handle): OfferIntake => ({
      open: (isOpen) => {
        bus.stopServing(process, TURN_OFFERS);
        if (isOpen) bus.serve(process, TURN_OFFERS, async (offer) => ({ taken: await handle(offer as Offer) }));
      },
    }),
  };
}
