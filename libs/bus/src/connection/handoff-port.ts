import type { BegunAdmission, OfferedAdmission, OfferedRun, ThreadKey } from '@caribou/core';

/**
 * What became of an offer: a runner has claimed the thread (`taken`) or could not (`refused`), no runner has a free slot, or
 * NATS is away (`nobody`), or no answer came in time (`late`), which says nothing about the claim.
 */
export type HandoffOutcome = 'taken' | 'refused' | 'nobody' | 'late';

/** A thread with a run that was just admitted, and what the gateway knows of this run, unless it is too large for a message. */
export interface Offer {
  readonly thread: ThreadKey;
  readonly run?: OfferedRun | undefined;
}

/** One whose run is not admitted yet. */
export interface UnadmittedOffer extends Offer {
  readonly run: OfferedRun & { readonly admission: OfferedAdmission };
}

/** The answer to an offer. */
export interface OfferAnswer {
  readonly taken: boolean;
  /** Of a run that was admitted when it was taken. */
  readonly begun?: BegunAdmission;
}

/** The offers that a process takes. */
export interface OfferIntake {
  /**
   * Whether the process takes offers from now on. Those that the server sent before it knew of an end are still handled.
   */
  open(isOpen: boolean): void;
}

/** Gives a run that was just admitted to a runner without a wake. An offer may be lost, late or doubled: the claim decides. */
export interface Handoffs {
  /** Offers the thread to one runner with a free slot. Only where it was `taken`, the caller publishes no wake. */
  offerTurn(offer: Offer): Promise<HandoffOutcome>;
  /**
   * Offers a run that is not admitted yet: of a new thread to one runner with a free slot, else to the one that took the thread last, which
   * may hold its state. Undefined when none is known, and when it has not begun the run; only for `late` it may have all the same.
   */
  beginTurn(offer: UnadmittedOffer): Promise<BegunAdmission | 'late' | undefined>;
  /** Whether `beginTurn` would ask a runner, and for what: undefined for none. */
  beginsAs(thread: ThreadKey): 'new' | 'held' | undefined;
  /** Notes that the thread is new: any runner may begin its first run. */
  noteCreated(thread: ThreadKey): void;
  /** Takes offers once opened. @param handle the answer; never rejects */
  takeOffers(handle: (offer: Offer) => Promise<OfferAnswer>): OfferIntake;
}
