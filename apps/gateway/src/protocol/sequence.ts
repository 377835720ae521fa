/**
 * Sequence numbers of a thread's events over all its runs, derived from what is stored anyway: the run's ordinal in the
 * thread, the number of the internal event in the run's log, and the index among the events that it is shown as. They rise, with
 * holes, and are the same at every gateway and at every replay. Together they fit into a safe integer.
 */
export interface SequencePosition {
  readonly ordinal: number;
  /** Number of the internal event; 0: before the first. */
  readonly event: number;
  readonly index: number;
}

const INDEX_BITS = 7;
const EVENT_BITS = 26;
const INDEXES = 2 ** INDEX_BITS;
const EVENTS = 2 ** EVENT_BITS;
const PER_RUN = INDEXES * EVENTS;

/** Index of the event that ends a run. */
export const LAST_INDEX = INDEXES - 1;
/** Index that all further events share once the others are used up: a stream that resumes there sends them again. */
export const SHARED_INDEX = LAST_INDEX - 1;
export const MAX_ORDINAL = 2 ** (53 - INDEX_BITS - EVENT_BITS) - 1;
const MAX_EVENT = EVENTS - 1;

/** The sequence number of a position. What exceeds a part of it gets the last number that other events may share. */
export function toSeq({ ordinal, event, index }: SequencePosition): number {
  const beyond = event > MAX_EVENT || index > LAST_INDEX;
  const shownIndex = beyond && index !== LAST_INDEX ? SHARED_INDEX : index;
  return Math.min(ordinal, MAX_ORDINAL) * PER_RUN + Math.min(event, MAX_EVENT) * INDEXES + shownIndex;
}

export function fromSeq(seq: number): SequencePosition {
  const rest = seq % PER_RUN;
  return {
    ordinal: Math.floor(seq / PER_RUN),
    event: Math.floor(rest / INDEXES),
    index: rest % INDEXES,
  };
}

/** The number before the first event of a run. */
export const seqBefore = (ordinal: number): number => toSeq({ ordinal, event: 0, index: 0 }) - 1;

/** Whether a client that has everything up to `since` may lack the event with this number. */
export const isNeeded = (seq: number, since: number): boolean => seq > since || (seq === since && isShared(seq));

/** Whether several events may have this number. */
export const isShared = (seq: number): boolean => seq % INDEXES === SHARED_INDEX;

const MAX_ID_CHARS = 300;

/** The sequence number in an event id, which is `<seq>`, `<seq>:<more>` or `synth:<run id>:<seq>`; undefined in other texts. */
export function seqOfEventId(id: string | undefined): number | undefined {
  if (id === undefined || id.length > MAX_ID_CHARS) return undefined;
  const digits = /^(?:synth:[^:]+:)?(\d{1,16})(?::.*)?$/.exec(id)?.[1];
  const seq = digits === undefined ? undefined : Number(digits);
  return seq !== undefined && Number.isSafeInteger(seq) ? seq : undefined;
}
