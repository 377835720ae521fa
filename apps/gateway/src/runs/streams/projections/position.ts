/**
 * A place in a stream, as a frame's id says it: `<seq>.<n>` after the n-th kind of frame of event `seq`, or `<seq>`
 * after everything that event ever shows. The place of each kind is fixed, so a client that resumes gets no frame
 * twice and misses none, whatever modes it asks for.
 */
export interface Position {
  readonly seq: number;
  readonly place: number;
}

/** A place after all frames of an event. */
export const WHOLE = Number.MAX_SAFE_INTEGER;
export const START: Position = { seq: 0, place: WHOLE };

export const frameId = ({ seq, place }: Position): string => (place === WHOLE ? String(seq) : `${seq}.${place}`);

const MAX_ID_CHARS = 32;

/**
 * The place a `Last-Event-ID` names. None, `-1` and what is no id of ours mean the start: a replay too much is
 * mended by the client's message ids, a hole is not.
 */
export function parsePosition(id: string | undefined): Position {
  const match = id === undefined || id.length > MAX_ID_CHARS ? null : /^(\d{1,15})(?:\.(\d{1,3}))?$/.exec(id);
  if (match === null) return START;
  return { seq: Number(match[1]), place: match[2] === undefined ? WHOLE : Number(match[2]) };
}

export const isAfter = (one: Position, other: Position): boolean =>
  one.seq === other.seq ? one.place > other.place : one.seq > other.seq;
