import type { WaitingReply } from '@caribou/contracts';
import type { Fault } from './argument-faults.js';
import type { Draft } from './decisions.js';

/** What the card of something that waits gets. */
export interface DecisionProps {
  readonly waiting: WaitingReply;
  readonly draft: Draft | undefined;
  readonly faults: readonly Fault[];
  readonly isBusy: boolean;
  /** Whether it is the only one that waits: then a decision is sent at once. */
  readonly isAlone: boolean;
  /** Sets the decision, or none. */
  readonly onDraft: (draft: Draft | undefined) => void;
  /** Sends the decision. */
  readonly onSend: (draft: Draft) => void;
}
