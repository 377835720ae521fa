/**
 * A position in a stream, as the id of a frame states it: `<seq>.<index>` after the frames of one kind of event `seq`, or
 * `<seq>` after all frames of that event. The index of each kind is fixed, so a client that resumes gets no frame twice
 * and misses none, whatever modes it asks for. The id of a frame whose event was not in the log yet ends in `~<logged>`, the
 * newest number that was: a client that resumes there need not find its event in the log.
 */
export interface Position {
  readonly seq: number;
  readonly index: number;
  /** Number of the newest event that was in the log when the frame was sent; absent: that of this event, or a newer one. */
  readonly logged?: number;
}

/** The index of a position after all frames of an event. */
export const WHOLE = Number.MAX_SAFE_INTEGER;
export const START: Position = { seq: 0, index: WHOLE };

export function frameId({ seq, index, logged = seq }: Position): string {
  const id = index === WHOLE ? String(seq) : `${seq}.${index}`;
  return logged < seq ? `${id}~${logged}` : id;
}

const MAX_ID_CHARS = 40;

/**
 * The position in a `Last-Event-ID`. An absent id, `-1` and ids of another form mean the start: clients recognize repeated
 * messages by their ids, but cannot recognize missing ones.
 */
export function parsePosition(id: string | undefined): Position {
  const match =
    id === undefined || id.length > MAX_ID_CHARS ? null : /^(\d{1,15})(?:\.(\d{1,3}))?(?:~(\d{1,15}))?$/.exec(id);
  if (match === null) return START;
  const [, seq, index = WHOLE, logged] = match;
  return { seq: Number(seq), index: Number(index), ...(logged === undefined ? {} : { logged: Number(logged) }) };
}

export const isAfter = (one: Position, other: Position): boolean =>
  one.seq === other.seq ? one.index > other.index : one.seq > other.seq;
