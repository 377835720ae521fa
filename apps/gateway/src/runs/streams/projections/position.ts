/**
 * A position in a stream, as the id of a frame states it: `<seq>.<index>` after the frames of one kind of event `seq`, or
 * `<seq>` after all frames of that event. The index of each kind is fixed, so a client that resumes gets no frame twice
 * and misses none, whatever modes it asks for.
 */
export interface Position {
  readonly seq: number;
  readonly index: number;
}

/** The index of a position after all frames of an event. */
export const WHOLE = Number.MAX_SAFE_INTEGER;
export const START: Position = { seq: 0, index: WHOLE };

export const frameId = ({ seq, index }: Position): string => (index === WHOLE ? String(seq) : `${seq}.${index}`);

const MAX_ID_CHARS = 32;

/**
 * The position in a `Last-Event-ID`. An absent id, `-1` and ids of another form mean the start: clients recognize repeated
 * messages by their ids, but cannot recognize missing ones.
 */
export function parsePosition(id: string | undefined): Position {
  const match = id === undefined || id.length > MAX_ID_CHARS ? null : /^(\d{1,15})(?:\.(\d{1,3}))?$/.exec(id);
  if (match === null) return START;
  return { seq: Number(match[1]), index: match[2] === undefined ? WHOLE : Number(match[2]) };
}

export const isAfter = (one: Position, other: Position): boolean =>
  one.seq === other.seq ? one.index > other.index : one.seq > other.seq;
