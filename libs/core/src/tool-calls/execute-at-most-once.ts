import { createHash } from 'node:crypto';
import { AppError } from '@caribou/contracts';
import type { ToolContext, ToolOutcome } from '../agent/tool.js';
import type { JournaledCall, ToolJournal } from './tool-journal.js';

export interface AtMostOnceCall {
  readonly journal: ToolJournal;
  readonly context: Pick<ToolContext, 'run' | 'key'>;
  /** What the call is: tool and arguments. */
  readonly what: unknown;
}

/**
 * Makes a tool call whose effect must not happen twice. A key that is known is not called again: it gets the outcome
 * that was kept, or is told that nobody knows it. What `make` throws is for the caller, and the call counts as begun.
 *
 * @throws FencedError, UnavailableError as the journal's `start`, before anything was called
 */
export async function executeAtMostOnce(parts: AtMostOnceCall, make: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  const call = journaled(parts);
  const known = await parts.journal.start(call);
  switch (known.state) {
    case 'new':
      return await keep(parts, call, await make());
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

/** The answer for a call that may have had its effect. */
export const unknownOutcome = (reason: string): ToolOutcome => ({
  content:
    `Error: The outcome of this call is unknown: ${reason}. It may have taken effect. It was not repeated; ` +
    'check what it was to change before you call it again.',
  isError: true,
});

/** What became of the call is known here and now, so a journal that cannot keep it is no reason to hide it. */
async function keep(
  { journal, context }: AtMostOnceCall,
  call: JournaledCall,
  outcome: ToolOutcome,
): Promise<ToolOutcome> {
  try {
    await journal.finish(call, outcome);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'fenced' || error.code === 'internal') throw error;
    context.run.logger.warn(
      { event: 'tool.not_kept', callKey: call.key, error },
      'the outcome of a tool call is not kept',
    );
  }
  return outcome;
}

function journaled({ context, what }: AtMostOnceCall): JournaledCall {
  const { userId, threadId, epoch } = context.run;
  const argsHash = createHash('sha256').update(JSON.stringify(what, inOrder)).digest('hex');
  return { userId, threadId, epoch, key: context.key, argsHash };
}

/** Objects with their keys in order, so that equal arguments are equal texts. */
const inOrder = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
    : value;
