import { type AcceptedRun, isTerminal } from './turn-load.js';

/** When a fault began and ended, by `performance.now()`, and the runs under way at its beginning. */
export interface FaultTimes {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly underWay: readonly AcceptedRun[];
}

export interface OutageFigures {
  readonly accepted: number;
  readonly byStatus: Readonly<Record<string, number>>;
  /** Accepted runs without a terminal status. */
  readonly lost: number;
  readonly underWay: number;
  /** Model calls beyond those that the turns need. */
  readonly repeatedCalls: number;
  /** The same, for each run that was under way. */
  readonly repeatedShare: number;
  /** Successful runs whose clients saw other text than the model has sent, or the notice of a gap. */
  readonly brokenStreams: number;
  /** From the end of the fault until the client of each run under way read text again, in milliseconds. */
  readonly resumedAfterMs: readonly number[];
}

export interface FigureInput {
  readonly runs: readonly AcceptedRun[];
  readonly fault: FaultTimes;
  readonly tokens: number;
  /** Number of model calls whose request contains the mark. */
  readonly countCalls: (mark: string) => number;
}

/** Computes the figures of one fault. Pure. */
export function outageFigures({ runs, fault, tokens, countCalls }: FigureInput): OutageFigures {
  const byStatus: Record<string, number> = {};
  for (const { status } of runs) byStatus[status] = (byStatus[status] ?? 0) + 1;
  const extra = ({ mark, neededCalls }: AcceptedRun): number => Math.max(0, countCalls(mark) - neededCalls);
  const repeatedCalls = runs.reduce((total, run) => total + extra(run), 0);
  const text = tokenText(tokens);
  return {
    accepted: runs.length,
    byStatus,
    lost: runs.filter(({ status }) => !isTerminal(status)).length,
    underWay: fault.underWay.length,
    repeatedCalls,
    repeatedShare: repeatedCalls / Math.max(1, fault.underWay.length),
    brokenStreams: runs.filter((run) => run.status === 'success' && isBroken(run, text)).length,
    resumedAfterMs: fault.underWay.flatMap(({ seen }) => {
      const at = seen.readAtMs.find((readMs) => readMs > fault.endedMs);
      return at === undefined ? [] : [at - fault.endedMs];
    }),
  };
}

/** The text of `#tokens`. */
const tokenText = (tokens: number): string => Array.from({ length: tokens }, (_, index) => `t${index}`).join(' ');

function isBroken({ seen }: AcceptedRun, text: string): boolean {
  const texts = [...seen.texts.values()].map((each) => each.trim()).filter((each) => each !== '');
  return seen.gaps > 0 || texts.length !== 1 || texts[0] !== text;
}

/** Counts in the requests that the scripted model has recorded. */
export function countIn(requests: readonly { readonly body: unknown }[]): (mark: string) => number {
  const bodies = requests.map(({ body }) => lastHumanText(body));
  return (mark) => bodies.filter((text) => text.includes(mark)).length;
}

/** The newest message of the user: earlier turns of the thread are in the request as well. */
function lastHumanText(body: unknown): string {
  const { messages = [] } = body as {
    readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
  };
  return JSON.stringify(
    messages.findLast(({ role, content }) => role === 'user' && JSON.stringify(content).includes('#tokens')) ?? '',
  );
}
