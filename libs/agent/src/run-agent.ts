import { FencedError, type NextNode } from '@caribou/contracts';
import { type LoopOutcome, RunDraining, RunLost } from '@caribou/core';
import type { AgentRun, Decision, LoopOptions } from './agent-run.js';
import { takeAfterModel, takeModelNode, takeToolsNode } from './nodes.js';
import { TurnDraft } from './turn-draft.js';

type Ending = Exclude<Decision, { kind: 'next' }>;

/**
 * Runs the agent from a committed state to the end of the run: hooks, model, tools, and a commit after each node but
 * the last, which the outcome hands back. An AI message with tool calls is committed before any tool starts.
 *
 * From 'start' the `beforeAgent` hooks run (again after a takeover: what they changed was not committed then), from
 * 'after_model' the hooks behind the last answer, from 'tools' its unanswered calls, from 'end' only `afterAgent`.
 *
 * Reaching `maxTurns` fails the run as GraphRecursionError, as LangGraph does, so that a client can tell an unfinished
 * task from an answer; what was committed stays, and a visible last message says what happened.
 *
 * @throws the signal's reason when the run was aborted; what a hook, a tool or the host threw.
 */
export async function runAgent(agent: AgentRun): Promise<LoopOutcome> {
  const draft = new TurnDraft(agent.state, agent.step + 1);
  let ending: Ending;
  try {
    ending = await takeTurns(agent, draft);
  } catch (error) {
    await leave(agent, draft, error);
    throw error;
  }
  if (ending.kind === 'yielded') return ending;
  const { remember } = await draft.runHooks(agent.chain, 'afterAgent', agent.run);
  const { stopReason } = draft;
  const why = stopReason === undefined ? {} : { stopReason };
  if (ending.kind === 'end')
    return { kind: 'finished', last: draft.take(ending.next ?? []), ...why, ...(remember ? { remember } : {}) };
  return { ...why, ...ending, last: draft.take([]) };
}

async function takeTurns(agent: AgentRun, draft: TurnDraft): Promise<Ending> {
  const entered = await enter(agent, draft);
  if (entered.kind !== 'next') return entered;
  let { node } = entered;
  let turnsLeft = agent.options.maxTurns - (agent.turnsTaken ?? 0);
  for (;;) {
    agent.run.signal.throwIfAborted();
    const decision = await takeNode(agent, { node, draft, turnsLeft });
    if (decision.kind !== 'next') return decision;
    if (pausesBetween(agent.options, node, decision.node)) return { kind: 'end', next: [decision.node] };
    if ((await agent.host.commit(draft.take([decision.node]))) === 'yield') return { kind: 'yielded' };
    if (node === 'model_request') turnsLeft -= 1;
    node = decision.node;
  }
}

interface NodeTurn {
  readonly node: NextNode;
  readonly draft: TurnDraft;
  readonly turnsLeft: number;
}

function takeNode(agent: AgentRun, { node, draft, turnsLeft }: NodeTurn): Promise<Decision> {
  if (node === 'tools') return takeToolsNode(agent, draft);
  if (node === 'after_model') return takeAfterModel(agent, draft, turnsLeft);
  return takeModelNode(agent, draft, turnsLeft);
}

/** The first node from where the run stands. */
async function enter({ position, chain, run, options }: AgentRun, draft: TurnDraft): Promise<Decision> {
  if (position === 'end') return { kind: 'end' };
  if (position !== 'start') return { kind: 'next', node: position };
  if ((await draft.runHooks(chain, 'beforeAgent', run)).ended) return { kind: 'end' };
  if (names(options.interruptBefore, 'model_request')) return { kind: 'end', next: ['model_request'] };
  return { kind: 'next', node: 'model_request' };
}

/** A breakpoint ends the run in the place of the commit, so a takeover never meets one half done. */
const pausesBetween = (options: LoopOptions, node: NextNode, next: NextNode): boolean =>
  names(options.interruptAfter, node === 'after_model' ? 'model_request' : node) ||
  names(options.interruptBefore, next);

const names = (breakpoints: '*' | readonly string[] | undefined, node: NextNode): boolean =>
  breakpoints === '*' || (breakpoints?.includes(node) ?? false);

/**
 * Gives a failed or cancelled run its `afterAgent` hooks; a run that another runner goes on with has not ended. Their
 * updates have no checkpoint to go into, and a failure of theirs must not hide the error that ended the run.
 */
async function leave({ chain, run }: AgentRun, draft: TurnDraft, error: unknown): Promise<void> {
  if ([error, run.signal.reason].some(goesOnElsewhere)) return;
  try {
    await draft.runHooks(chain, 'afterAgent', run);
  } catch (second) {
    run.logger.error({ error: second }, 'afterAgent failed');
  }
}

const goesOnElsewhere = (reason: unknown): boolean =>
  reason instanceof RunLost || reason instanceof RunDraining || reason instanceof FencedError;
