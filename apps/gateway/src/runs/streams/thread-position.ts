/** A position in the stream of a thread, as the ids of its frames state it. */
export interface ThreadPosition {
  /** Runs that were admitted before this time, in microseconds, have been shown. */
  readonly admittedUs: number;
  /** The run that was admitted at that time; '' for none. */
  readonly runId: string;
  /** Id of the run's last frame; '' before the first, `done` after the last. */
  readonly inRun: string;
  /** The newest checkpoint that was shown; '' for none. */
  readonly head: string;
}

/** The `inRun` of a run that was shown to its end. */
export const DONE = 'done';

const MAX_ID_CHARS = 200;
const FORM = /^(\d{1,16})\/([A-Za-z0-9_-]{0,64})\/([0-9.~]{0,40}|done)\/([0-9a-f-]{0,36})$/;

export const threadFrameId = ({ admittedUs, runId, inRun, head }: ThreadPosition): string =>
  [admittedUs, runId, inRun, head].join('/');

/** The position in a `Last-Event-ID`; undefined for an absent id and one of another form. */
export function parseThreadPosition(id: string | undefined): ThreadPosition | undefined {
  const match = id === undefined || id.length > MAX_ID_CHARS ? null : FORM.exec(id);
  if (match === null) return undefined;
  const [, admittedUs, runId = '', inRun = '', head = ''] = match;
  return { admittedUs: Number(admittedUs), runId, inRun, head };
}
