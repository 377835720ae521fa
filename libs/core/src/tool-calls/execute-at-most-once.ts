import { createHash } from 'node:crypto';
import { AppError, isRecord, UnavailableError } from '@caribou/contracts';
import { Interrupted } from '../agent/interrupts.js';
import type { ToolContext, ToolOutcome } from '../agent/tool.js';
import { RunDraining } from '../ports/sandbox-port.js';
import type { JournaledCall, ToolJournal } from './tool-journal.js';

const RETRY_MS = 250;
/** When the journal has not answered for so long, another process continues the run. */
const GIVE_UP_MS = 60_000;

export interface AtMostOnceCall {
  readonly journal: ToolJournal;
  readonly context: Pick<ToolContext, 'run' | 'key'>;
  /** Identifies the call: tool and arguments. */
  readonly what: unknown;
}

/**
 * Executes a tool call whose effect must not happen twice. A known key is not executed again: the result is its stored
 * outcome, or that the outcome is unknown. An error of `make` is rethrown, and the call counts as started; but one that asks a
 * person has had no effect by then, and begins again with the answer. While the journal does not answer the call waits: that a
 * call has failed is never said of one that an earlier process may have made.
 *
 * @throws {FencedError} as the journal's `start`, before anything was called
 * @throws {RunDraining} when the journal has not answered for a minute; the signal's reason when the run has ended before
 */
export async function executeAtMostOnce(parts: AtMostOnceCall, make: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  const call = toJournaledCall(parts);
  const known = await untilAnswered(parts, () => parts.journal.start(call));
  switch (known.state) {
    case 'new':
      return await store(parts, call, await begin(parts, call, make));
    case 'done':
      return known.outcome;
    case 'unknown':
      return unknownOutcome('the process that made this call ended before it was answered');
    case 'mismatch':
      return {
        content: 'Error: This call was made before with other arguments; it was not made again.',
        isError: true,
      };
  }
}

/** Repeats a step of the journal while the store is unavailable. */
async function untilAnswered<T>({ context }: AtMostOnceCall, step: () => Promise<T>): Promise<T> {
  const { clock, signal } = context.run;
  const lastMs = clock.monotonicMs() + GIVE_UP_MS;
  for (;;) {
    try {
      return await step();
    } catch (cause) {
      if (!(cause instanceof UnavailableError)) throw cause;
      if (clock.monotonicMs() >= lastMs)
        throw new RunDraining('run is handed over: the journal of tool calls does not answer', { cause });
    }
    await clock.sleep(RETRY_MS, signal);
  }
}

async function begin(
  parts: AtMostOnceCall,
  call: JournaledCall,
  make: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof Interrupted) await untilAnswered(parts, () => parts.journal.withdraw(call));
    throw error;
  }
}

/** The outcome of a call that may have taken effect. */
export const unknownOutcome = (reason: string): ToolOutcome => ({
  content:
    `Error: The outcome of this call is unknown: ${reason}. It may have taken effect. It was not repeated; ` +
    'check what it was to change before you call it again.',
  isError: true,
  isUnknown: true,
});

/** Stores the outcome. A failure to do so is only logged, since the outcome itself is known. */
async function store(
  { journal, context }: AtMostOnceCall,
  call: JournaledCall,
  outcome: ToolOutcome,
): Promise<ToolOutcome> {
  try {
    await journal.finish(call, outcome);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'fenced' || error.code === 'internal') throw error;
    context.run.logger.warn(
      { event: 'tool.store_failed', callKey: call.key, error },
      'the outcome of a tool call could not be stored',
    );
  }
  return outcome;
}

/** Attempts of this process, which has its epochs alone. */
let attempts = 0;

function toJournaledCall({ context, what }: AtMostOnceCall): JournaledCall {
  const { userId, threadId, epoch } = context.run;
  const argsHash = createHash('sha256').update(JSON.stringify(what, inOrder)).digest('hex');
  attempts += 1;
  return { userId, threadId, epoch, attempt: attempts, key: context.key, argsHash };
}

/** Sorts the keys of objects, so that equal arguments give equal texts. */
const inOrder = (_key: string, value: unknown): unknown =>
  isRecord(value)
    ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
    : value;
