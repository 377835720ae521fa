import { createHash } from 'node:crypto';
import {
  type AnsweredInterrupt,
  BugError,
  ExtensionError,
  type InterruptRecord,
  InvalidRequestError,
  MAX_INTERRUPT_BYTES,
  MAX_OPEN_INTERRUPTS,
  omitUndefined,
  type RunTerms,
  type ThreadInterrupts,
  type ThreadState,
} from '@caribou/contracts';
import type { InterruptAnswer, InterruptRequest } from '../ports/interrupt-request.js';
import { copyWith } from '../util/copy-with.js';
import type { RunContext } from './run-context.js';

/**
 * Leaves the hook or the tool call that raised interrupts. Code in between must let it through, as the loop stores what is asked
 * and ends the run.
 */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  /** @param asked what waits, old and new */
  constructor(readonly asked: readonly InterruptRecord[]) {
    super('the run waits for an answer');
  }
}

/** What raises interrupts: a tool call or a hook. */
export interface InterruptScope {
  /** `tool:<tool call id>`, or the node of a hook such as `title.after_model`. */
  readonly scope: string;
  /** The layer or hook within the scope, so that two layers around one call do not get each other's answers. */
  readonly layer: string;
  /** The state before the node. */
  readonly state: ThreadState;
  /** Number of the super-step. */
  readonly step: number;
}

/** For code that is called where a run cannot stop: both functions reject. */
export const NO_INTERRUPTS_HERE: Pick<RunContext, 'interrupt' | 'interruptAll'> = {
  interrupt: () => Promise.reject(misplaced()),
  interruptAll: () => Promise.reject(misplaced()),
};

const misplaced = (): Error =>
  new ExtensionError(
    'interrupt may be called by the hooks beforeAgent, beforeModel, afterModel and wrapToolCall, and by tools',
  );

const TOOL_SCOPE = 'tool:';

/** Returns the scope of the interrupts of a tool call. */
export const toolScope = (toolCallId: string): string => `${TOOL_SCOPE}${toolCallId}`;

/** Returns the tool call of a scope; undefined for the scope of a hook. */
export const toolCallOf = (scope: string): string | undefined =>
  scope.startsWith(TOOL_SCOPE) ? scope.slice(TOOL_SCOPE.length) : undefined;

/** The run as the code of a scope sees it: with `interrupt` and `interruptAll` for this scope. */
export function withInterrupts<Run extends RunContext>(run: Run, scope: InterruptScope): Run {
  let raised = 0;
  const interruptAll = (requests: readonly InterruptRequest[]): Promise<ReadonlyMap<string, InterruptAnswer>> =>
    // A rejection, never an exception: the caller may not be awaiting yet.
    Promise.resolve().then(() => askAll(run, scope, requests));
  const interrupt = async (request: InterruptRequest): Promise<InterruptAnswer> => {
    const key = request.key ?? String((raised += 1));
    const answers = await interruptAll([{ ...request, key }]);
    const answer = answers.get(key);
    if (answer === undefined) throw new BugError('an interrupt has neither an answer nor stopped the run');
    return answer;
  };
  const replaced: Pick<RunContext, 'interrupt' | 'interruptAll'> = { interrupt, interruptAll };
  return copyWith<RunContext>(run, replaced) as Run;
}

/** @throws {Interrupted} when none of the requests has an answer */
function askAll(run: RunContext, scope: InterruptScope, requests: readonly InterruptRequest[]) {
  const { open, answered } = scope.state.interrupts ?? NO_INTERRUPTS;
  const isOf = (record: InterruptRecord, key: string): boolean => record.scope === scope.scope && record.key === key;
  const answers = new Map<string, InterruptAnswer>();
  const waiting: InterruptRecord[] = [];
  for (const request of requests) {
    const key = `${scope.layer}#${request.key ?? ''}`;
    const known = answered.find((record) => isOf(record, key));
    if (known !== undefined) answers.set(request.key ?? '', answerOf(known));
    else waiting.push(open.find((record) => isOf(record, key)) ?? createRecord(run, scope, { ...request, key }));
  }
  if (answers.size === 0) throw new Interrupted(waiting);
  return answers;
}

const NO_INTERRUPTS: ThreadInterrupts = { open: [], answered: [] };

const answerOf = ({ id, answer, answered_by, answered_at }: AnsweredInterrupt): InterruptAnswer => ({
  id,
  value: answer,
  at: answered_at,
  ...omitUndefined({ by: answered_by }),
});

/** The id contains run and step, so that it is the same after a takeover and never that of another question. */
function createRecord(
  { runId, threadId, clock }: RunContext,
  { scope, step }: InterruptScope,
  request: InterruptRequest & { readonly key: string },
): InterruptRecord {
  const { value, schema, kind = 'question', key, namespace, decider = 'owner', expiresAtMs, onExpiry } = request;
  const bytes = Buffer.byteLength(JSON.stringify({ value, schema }) ?? '');
  if (bytes > MAX_INTERRUPT_BYTES)
    throw new InvalidRequestError(
      `the value and schema of an interrupt have ${bytes} bytes; the limit is ${MAX_INTERRUPT_BYTES}`,
    );
  return {
    id: request.id ?? digestOf(threadId, runId, String(step), scope, key),
    kind,
    value: value ?? null,
    scope,
    key,
    run_id: runId,
    decider,
    created_at: new Date(clock.now()).toISOString(),
    ...omitUndefined({ schema, namespace: namespace === undefined ? undefined : [...namespace] }),
    ...(expiresAtMs === undefined ? {} : { expires_ms: expiresAtMs, on_expiry: onExpiry ?? null }),
  };
}

/**
 * The interrupt of a run that was paused before a node, with any answer.
 *
 * @param isAtStart the hooks `beforeAgent` have not run yet, and do so when the run is resumed
 */
export const pauseInterrupt = (run: RunContext, state: ThreadState, { step, isAtStart }: PausePoint): InterruptRecord =>
  createRecord(
    run,
    { scope: isAtStart ? 'pause.before_agent' : 'pause', layer: 'pause', state, step },
    { kind: 'paused', value: { type: 'paused', run_id: run.runId }, key: 'pause' },
  );

interface PausePoint {
  readonly step: number;
  readonly isAtStart: boolean;
}

const digestOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

/** The run that raised the first interrupt of a tool call; undefined for a call that raised none. */
export const askingRunOf = ({ interrupts }: ThreadState, scope: string): string | undefined =>
  [...(interrupts?.answered ?? []), ...(interrupts?.open ?? [])].find((record) => record.scope === scope)?.run_id;

/**
 * The channel after a node: with what waits now, and the answers of those scopes, which are used again when the rest is
 * answered. Of more than MAX_OPEN_INTERRUPTS the first are open: the others are asked again when the node is repeated. Undefined when
 * nothing waits.
 *
 * @param continues settings for the run that continues
 */
export function interruptsAfter(
  { interrupts = NO_INTERRUPTS }: ThreadState,
  asked: readonly InterruptRecord[],
  continues?: RunTerms,
): ThreadInterrupts | undefined {
  if (asked.length === 0) return undefined;
  const scopes = new Set(asked.map(({ scope }) => scope));
  const answered = interrupts.answered.filter(({ scope }) => scopes.has(scope));
  return { open: asked.slice(0, MAX_OPEN_INTERRUPTS), answered, ...omitUndefined({ continues }) };
}

/** Moves the answered interrupts from the open ones to the answered ones. Unknown ids are ignored. */
export function answerInterrupts(
  interrupts: ThreadInterrupts,
  answers: Readonly<Record<string, unknown>>,
  { by, at }: { readonly by?: string | undefined; readonly at: string },
): ThreadInterrupts {
  const given = interrupts.open.filter(({ id }) => Object.hasOwn(answers, id));
  return {
    open: interrupts.open.filter(({ id }) => !Object.hasOwn(answers, id)),
    answered: [
      ...interrupts.answered,
      ...given.map((record) => ({
        ...record,
        answer: answers[record.id],
        answered_at: at,
        ...omitUndefined({ answered_by: by }),
      })),
    ],
  };
}
