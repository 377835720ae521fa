import {
  ConflictError,
  ForbiddenError,
  type InterruptRecord,
  InvalidRequestError,
  isRecord,
  newId,
  omitUndefined,
  openQuestionsIn,
  type RunCommand,
  type RunCreate,
  type RunKwargs,
  type RunTerms,
  type ThreadInterrupts,
  toAnswerMessage,
  toApprovalAnswer,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';
import { readApproval } from './approval-answers.js';
import { type Decided, decidedOf } from './decision-lines.js';

/** Who sends a command. */
export interface CommandSender {
  readonly userId: string;
  readonly admin: boolean;
}

type CommandInput = NonNullable<RunCreate['command']>;

/** A command, with what the run that it starts has to know. */
export interface ResolvedCommand {
  readonly command?: RunCommand;
  /** The message that answers a question which ended its run; there is no command then. */
  readonly input?: RunKwargs['input'];
  /** The checkpoint with that question. */
  readonly expectedHead?: string;
  /** The answers, for the audit. */
  readonly decided?: readonly Decided[];
  /** Settings of the run that asked. */
  readonly continues?: RunTerms;
}

const INTERRUPT_ID = /^[0-9a-f]{32}$/;

/** The store as commands need it. */
export type CommandStore = Pick<ThreadStore, 'getThread' | 'head'>;

export interface SentCommand {
  readonly key: ThreadKey;
  readonly command: CommandInput;
  readonly sender: CommandSender;
}

/**
 * Turns the `command` of a request into answers to the interrupts that the thread waits for. The script that admits the run
 * checks again that they are open, so that each is answered once.
 *
 * @throws {NotFoundError} when there is no such thread of this user
 * @throws {ConflictError} when nothing waits, or an interrupt is not open
 * @throws {InvalidRequestError} when one value is given for several interrupts, or a decision is not possible
 * @throws {ForbiddenError} when only an administrator may answer
 */
export async function resolveCommand(
  store: CommandStore,
  { key, command, sender }: SentCommand,
): Promise<ResolvedCommand> {
  const { resume, goto, update } = command;
  const rest = omitUndefined({ goto: goto ?? undefined, update: update ?? undefined });
  if (resume === undefined || resume === null) return { command: rest };
  const { status, values } = await store.getThread(key);
  const { interrupts } = values;
  const { open, continues }: Pick<ThreadInterrupts, 'open' | 'continues'> = interrupts ?? { open: [] };
  if (open.length === 0) {
    const answer = await answerWithoutInterrupt(store, key, { resume, rest, isPaused: status === 'interrupted' });
    if (answer !== undefined) return answer;
  }
  const given = answersOf(resume, open);
  for (const interrupt of open) if (Object.hasOwn(given, interrupt.id)) refuseSender(interrupt, sender);
  const { answers, decided } = readDecisions(given, open);
  return { command: { ...rest, answers, answered_by: sender.userId }, decided, ...omitUndefined({ continues }) };
}

interface Continuation {
  readonly resume: unknown;
  readonly rest: RunCommand;
  /** Whether the thread waits at a breakpoint. */
  readonly isPaused: boolean;
}

/** A breakpoint has no interrupt: any value continues from it. Undefined when the thread waits for nothing. */
async function answerWithoutInterrupt(
  store: CommandStore,
  key: ThreadKey,
  { resume, rest, isPaused }: Continuation,
): Promise<ResolvedCommand | undefined> {
  const answer = await answerQuestion(store, key, resume);
  if (answer !== undefined || !isPaused || isByInterrupt(resume)) return answer;
  const head = await store.head(key);
  return head === null ? undefined : { command: { ...rest, answers: {} }, expectedHead: head.checkpointId };
}

/**
 * Answers a question that ended its run, such as `ask_clarification`: it waits for the next message of the user, which the answer
 * becomes. Undefined when there is no such question.
 */
async function answerQuestion(
  store: CommandStore,
  key: ThreadKey,
  resume: unknown,
): Promise<ResolvedCommand | undefined> {
  const head = await store.head(key);
  const questions = openQuestionsIn(head?.state.messages ?? []);
  const named = isByInterrupt(resume) ? Object.keys(resume) : undefined;
  const question = named === undefined ? questions[0] : questions.find(({ id }) => named.includes(id));
  if (head === null || question === undefined) return undefined;
  const answer = named === undefined ? resume : (resume as Answers)[question.id];
  return {
    input: { messages: [toAnswerMessage(question, answer, newId())] },
    expectedHead: head.checkpointId,
    decided: [{ question, answer }],
  };
}

type Answers = Readonly<Record<string, unknown>>;

/** The answers by interrupt: `resume` is an object of them, a list of decisions, or the one value for the only interrupt. */
function answersOf(resume: unknown, open: readonly InterruptRecord[]): Answers {
  const [first, ...others] = open;
  if (first === undefined)
    throw new ConflictError('command.resume: the thread waits for no answer; it may have been answered already');
  if (isByInterrupt(resume)) {
    const unknown = Object.keys(resume).find((id) => !open.some((interrupt) => interrupt.id === id));
    if (unknown === undefined) return resume;
    throw new ConflictError(
      `command.resume: the thread waits for no answer to interrupt ${unknown}; it may have been answered already`,
      { details: { interruptId: unknown } },
    );
  }
  const approvals = open.filter(({ kind }) => kind === 'approval');
  if (approvals.length > 0 && isRecord(resume) && Array.isArray(resume['decisions']))
    return distribute(resume['decisions'], approvals);
  if (others.length === 0) return { [first.id]: resume };
  throw new InvalidRequestError(
    `command.resume: the thread waits for ${open.length} answers; name the interrupt of each: {"${first.id}": …}`,
  );
}

const isByInterrupt = (resume: unknown): resume is Answers =>
  isRecord(resume) && Object.keys(resume).length > 0 && Object.keys(resume).every((key) => INTERRUPT_ID.test(key));

/** Distributes the decisions of LangChain's format in the order in which the calls wait. */
function distribute(decisions: readonly unknown[], approvals: readonly InterruptRecord[]): Answers {
  if (decisions.length !== approvals.length)
    throw new InvalidRequestError(
      `command.resume.decisions: ${approvals.length} calls wait, but there are ${decisions.length} decisions; to decide some of them, name their interrupts`,
    );
  return Object.fromEntries(approvals.map(({ id }, index) => [id, { decisions: [decisions[index]] }]));
}

/** Reads the decisions among the answers; they are stored in one format. */
function readDecisions(given: Answers, open: readonly InterruptRecord[]) {
  const answered = open.filter(({ id }) => Object.hasOwn(given, id));
  const calls = answered
    .filter(({ kind }) => kind === 'approval')
    .map((interrupt) => ({ interrupt, decision: readApproval(interrupt, given[interrupt.id]) }));
  const others = answered.filter(({ kind }) => kind !== 'approval');
  const decisions = calls.map(({ interrupt, decision }) => [interrupt.id, toApprovalAnswer(decision)]);
  return {
    decided: [...calls, ...others.map((interrupt) => decidedOf(interrupt, given[interrupt.id]))],
    answers: { ...given, ...Object.fromEntries(decisions) } as Answers,
  };
}

function refuseSender({ decider }: InterruptRecord, { admin }: CommandSender): void {
  if (decider === 'admin' && !admin) throw new ForbiddenError('command.resume: only an administrator may answer this');
}
