import {
  ConflictError,
  type InterruptRecord,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  type RunCommand,
  type RunCreate,
  omitUndefined,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';

/** Who sends a command. */
export interface CommandSender {
  readonly userId: string;
  readonly admin: boolean;
}

type CommandInput = NonNullable<RunCreate['command']>;

const INTERRUPT_ID = /^[0-9a-f]{32}$/;

/** The store as commands need it. */
export type CommandStore = Pick<ThreadStore, 'getThread'>;

export interface SentCommand {
  readonly key: ThreadKey;
  readonly command: CommandInput;
  readonly sender: CommandSender;
}

/**
 * Turns the `command` of a request into answers to the interrupts that the thread waits for. The script that admits the run
 * checks again that they are open, so that each is answered once.
 *
 * @throws {ConflictError} when nothing waits, or an interrupt is not open
 * @throws {InvalidRequestError} when one value is given for several interrupts
 * @throws {ForbiddenError} when only an administrator may answer
 */
export async function resolveCommand(store: CommandStore, { key, command, sender }: SentCommand): Promise<RunCommand> {
  const { resume, goto, update } = command;
  const rest = omitUndefined({ goto: goto ?? undefined, update: update ?? undefined });
  if (resume === undefined || resume === null) return rest;
  const answers = answersOf(resume, await openInterrupts(store, key), sender);
  return { ...rest, answers, answered_by: sender.userId };
}

/** What the thread waits for; nothing for a thread that does not exist. */
async function openInterrupts(store: CommandStore, key: ThreadKey): Promise<readonly InterruptRecord[]> {
  try {
    return (await store.getThread(key)).values.interrupts?.open ?? [];
  } catch (error) {
    if (error instanceof NotFoundError) return [];
    throw error;
  }
}

/** The answers by interrupt: `resume` is an object of them, or the one value for the only interrupt. */
function answersOf(resume: unknown, open: readonly InterruptRecord[], sender: CommandSender): Record<string, unknown> {
  const [first, ...others] = open;
  if (first === undefined)
    throw new ConflictError('command.resume: the thread waits for no answer; it may have been answered already');
  if (!isByInterrupt(resume)) {
    if (others.length > 0)
      throw new InvalidRequestError(
        `command.resume: the thread waits for ${open.length} answers; name the interrupt of each: {"${first.id}": …}`,
      );
    refuseSender(first, sender);
    return { [first.id]: resume };
  }
  for (const id of Object.keys(resume)) {
    const asked = open.find((interrupt) => interrupt.id === id);
    if (asked === undefined)
      throw new ConflictError(
        `command.resume: the thread waits for no answer to interrupt ${id}; it may have been answered already`,
        { details: { interruptId: id } },
      );
    refuseSender(asked, sender);
  }
  return { ...resume };
}

const isByInterrupt = (resume: unknown): resume is Readonly<Record<string, unknown>> =>
  typeof resume === 'object' &&
  resume !== null &&
  !Array.isArray(resume) &&
  Object.keys(resume).length > 0 &&
  Object.keys(resume).every((key) => INTERRUPT_ID.test(key));

function refuseSender({ decider }: InterruptRecord, { admin }: CommandSender): void {
  if (decider === 'admin' && !admin) throw new ForbiddenError('command.resume: only an administrator may answer this');
}
