/** The id of a frame of a run's stream: `<seq>`, `<seq>.<index>`, each with `~<logged>` at its end. */
interface Position {
  readonly seq: number;
  readonly index: number;
}

/** The position that an id names; undefined for an id of another form. */
function positionOf(id: string): Position | undefined {
  const match = /^(\d{1,15})(?:\.(\d{1,3}))?(?:~\d{1,15})?$/.exec(id);
  if (match === null) return undefined;
  return { seq: Number(match[1]), index: match[2] === undefined ? Number.POSITIVE_INFINITY : Number(match[2]) };
}

/** Whether a frame comes after the last one that was shown. Frames without a position are shown. */
export function isAfter(id: string | undefined, last: string | undefined): boolean {
  const [one, other] = [id, last].map((each) => (each === undefined ? undefined : positionOf(each)));
  if (one === undefined || other === undefined) return true;
  return one.seq === other.seq ? one.index > other.index : one.seq > other.seq;
}
