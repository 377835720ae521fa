import {
  type AiMessage,
  FencedError,
  type Message,
  newId,
  type NextNode,
  textOf,
  omitUndefined,
} from '@caribou/contracts';
import {
  hasPending,
  type LoopOutcome,
  pauseInterrupt,
  pendingCalls,
  type RunContext,
  RunDraining,
  RunLost,
} from '@caribou/core';
import type { AgentRun } from './agent-run.js';
import { applyGoalChange, decideEnd } from './decide-end.js';
import { executeToolCalls } from './execute-tool-calls.js';
import { joinWaiting } from './join-waiting.js';
import {
  commit,
  FINISHED,
  type Following,
  HookInterrupted,
  includesNode,
  pausesBetween,
  type RunEnd,
  runChain,
  StopRequested,
  turnsLeft,
} from './loop-steps.js';
import { takeModelTurn } from './model-turn.js';
import { taskStart, TurnDraft } from './turn-draft.js';

/**
 * Runs the agent from a committed state to the end of the run. One turn is `callModel`, `handleAnswer`, `callTools`.
 * There is a commit after each node except the last, whose checkpoint is part of the outcome. An AI message with tool
 * calls is committed before any tool starts.
 *
 * From 'start' the `beforeAgent` hooks run (again after a takeover, as their changes were not committed); from
 * 'after_model' the hooks after the last answer; from 'tools' its calls without a result; from 'end' only `beforeEnd` and
 * `afterAgent`.
 *
 * Reaching `maxTurns` fails the run as GraphRecursionError, as in LangGraph, so that a client can distinguish an
 * unfinished task from an answer. Earlier commits remain, and a visible last message explains the end.
 *
 * @throws the signal's reason when the run was aborted; any error that a hook, a tool or the host threw
 */
export async function runAgent(agent: AgentRun): Promise<LoopOutcome> {
  const draft = new TurnDraft(agent.state, agent.step + 1);
  let end: RunEnd;
  try {
    end = await runNodes(agent, draft);
  } catch (error) {
    if (error instanceof StopRequested) return { kind: 'yielded' };
    await runAfterFailure(agent, draft, error);
    throw error;
  }
  const terms = { context: agent.run.context, recursion_limit: agent.options.maxTurns };
  if (end.paused === undefined) draft.setInterrupts(end.asked, terms);
  else draft.setPaused(end.paused);
  await runChain(agent, draft, 'afterAgent');
  const stopReason = end.stopReason ?? draft.stopReason;
  const last = draft.toCommit(end.next);
  const why = omitUndefined({ stopReason });
  if (end.error !== undefined) return { kind: 'failed', last, error: end.error, ...why };
  return { kind: 'finished', last, ...why };
}

/** Runs the nodes until one of them ends the run, or asks a person. */
async function runNodes(agent: AgentRun, draft: TurnDraft): Promise<RunEnd> {
  try {
    return await runToEnd(agent, draft);
  } catch (error) {
    if (error instanceof HookInterrupted) return { next: [error.node], asked: error.asked };
    throw error;
  }
}

/** Runs nodes until the run ends, and continues where its end is postponed. */
async function runToEnd(agent: AgentRun, draft: TurnDraft): Promise<RunEnd> {
  let following = pauseAtStart(agent, draft) ?? (await firstNode(agent, draft));
  for (;;) {
    const end = typeof following === 'string' ? await runFrom(following, agent, draft) : following;
    if (end.paused !== undefined) return end;
    const continued = await decideEnd(agent, draft, end);
    if (typeof continued !== 'string') return continued;
    following = pauseAt(agent, draft, continued) ?? continued;
  }
}

/** Runs one node after the other and commits between two of them. */
async function runFrom(first: NextNode, agent: AgentRun, draft: TurnDraft): Promise<RunEnd> {
  let following: Following = first;
  while (typeof following === 'string') {
    agent.run.signal.throwIfAborted();
    const node: NextNode = following;
    following = await nodes[node](agent, draft);
    if (typeof following !== 'string') break;
    draft.setInterrupts();
    if (pausesBetween(agent.options, node, following)) return { next: [following] };
    await commit(agent, draft, following);
    following = pauseAt(agent, draft, following) ?? following;
  }
  return following;
}

/**
 * The end of a run that is paused before its first node here. Tool calls may have been executed by a runner that died, under keys of
 * this run, which the run that is resumed would not find: they are completed first.
 */
const pauseAtStart = (agent: AgentRun, draft: TurnDraft): RunEnd | undefined =>
  agent.position === 'end' || agent.position === 'tools' ? undefined : pauseAt(agent, draft, agent.position);

/** The end of a run that is paused before a node; undefined when it is not. */
function pauseAt({ host, run }: AgentRun, draft: TurnDraft, node: NextNode | 'start'): RunEnd | undefined {
  if (host.isPaused?.() !== true) return undefined;
  const isAtStart = node === 'start';
  const paused = pauseInterrupt(run, draft.state, { step: draft.step, isAtStart });
  return { next: [isAtStart ? 'model_request' : node], paused };
}

async function firstNode(agent: AgentRun, draft: TurnDraft): Promise<Following> {
  const { position, options } = agent;
  if (position === 'end') return FINISHED;
  if (position !== 'start') return position;
  if ((await runChain(agent, draft, 'beforeAgent')).ended) return FINISHED;
  return includesNode(options.interruptBefore, 'model_request') ? { next: ['model_request'] } : 'model_request';
}

/**
 * Requests one answer of the model. An update that a hook marked as durable, and an answer before slow hooks, are
 * committed separately.
 */
async function callModel(agent: AgentRun, draft: TurnDraft): Promise<Following> {
  const { chain, run } = agent;
  applyGoalChange(agent, draft);
  if (await joinWaiting(agent, draft)) await commit(agent, draft, 'model_request');
  if (turnsLeft(agent, draft) <= 0) return refuseTurn(agent, draft);
  if (agent.host.isBudgetSpent?.() === true) return endForBudget(draft);
  const before = await runChain(agent, draft, 'beforeModel');
  if (before.ended) return FINISHED;
  if (before.durable) await commit(agent, draft, 'model_request');
  const start = taskStart('model_request', draft.step);
  await run.emit(start);
  const answer = await takeModelTurn({
    ...{ ...agent, tools: toolsOf(agent), state: draft.state, step: draft.step },
    onUsage: (call) => draft.addCall(call),
  });
  draft.addResults([start], [{ messages: [answer] }]);
  draft.countModelTurn();
  const slow = chain.some((middleware) => middleware.isSlowAfterModel?.(draft.state, run) === true);
  if (slow) await commit(agent, draft, 'after_model');
  return handleAnswer(agent, draft);
}

/** Runs the hooks after an answer and determines the next node. */
async function handleAnswer(agent: AgentRun, draft: TurnDraft): Promise<Following> {
  const answer = draft.state.messages.at(-1);
  const { ended, again } = await runChain(agent, draft, 'afterModel');
  const revised = draft.state.messages.findLast(({ id }) => id === answer?.id);
  const error = modelErrorOf(answer, agent.run) ?? modelErrorOf(revised, agent.run);
  if (error !== undefined) return { next: [], error };
  if (ended) return FINISHED;
  if (hasPending(pendingCalls(draft.state))) return 'tools';
  // With no turn left a finished answer is the end; without one the next turn is refused, which says so in the thread.
  const answered = draft.state.messages.at(-1)?.type === 'ai';
  return again && (turnsLeft(agent, draft) > 0 || !answered) ? 'model_request' : FINISHED;
}

/**
 * Executes the calls of the last AI message that have no result; each call is a separate task, as in LangChain's agent.
 */
async function callTools(agent: AgentRun, draft: TurnDraft): Promise<Following> {
  const { chain, run } = agent;
  const calls = pendingCalls(draft.state);
  const starts = [...calls.valid, ...calls.invalid].map(() => taskStart('tools', draft.step, '__pregel_push'));
  for (const start of starts) await run.emit(start);
  const { state, step } = draft;
  const results = await executeToolCalls({ chain, tools: toolsOf(agent), run, state, step, calls });
  draft.addCalls(starts, results);
  const asked = results.flatMap((result) => result.asked);
  if (asked.length > 0) return { next: ['tools'], asked };
  return results.some((result) => result.end) ? FINISHED : 'model_request';
}

type Node = (agent: AgentRun, draft: TurnDraft) => Promise<Following>;

const nodes: Readonly<Record<NextNode, Node>> = {
  model_request: callModel,
  after_model: handleAnswer,
  tools: callTools,
};

/**
 * Runs the `afterAgent` hooks of a failed or cancelled run, but not of one that another runner takes over. Their
 * updates are not stored, as there is no further checkpoint, and their failure must not hide the error that ended the
 * run.
 */
async function runAfterFailure(agent: AgentRun, draft: TurnDraft, error: unknown): Promise<void> {
  if ([error, agent.run.signal.reason].some(isTakenOver)) return;
  try {
    await runChain(agent, draft, 'afterAgent');
  } catch (second) {
    agent.run.logger.error({ error: second }, 'afterAgent failed');
  }
}

const isTakenOver = (reason: unknown): boolean =>
  reason instanceof RunLost || reason instanceof RunDraining || reason instanceof FencedError;

const toolsOf = ({ tools, chain }: AgentRun): AgentRun['tools'] => [
  ...tools,
  ...chain.flatMap((middleware) => middleware.tools ?? []),
];

function refuseTurn({ options: { maxTurns } }: AgentRun, draft: TurnDraft): RunEnd {
  const text = `The run was stopped after ${maxTurns} model turns without a final answer. Send a message to go on.`;
  draft.addResults([taskStart('model_request', draft.step)], [{ messages: [noticeOf(text)] }]);
  return { next: [], error: { name: 'GraphRecursionError', message: text }, stopReason: 'recursion_limit' };
}

/** Ends the run with a visible message in place of the next answer. */
function endForBudget(draft: TurnDraft): RunEnd {
  draft.addResults([taskStart('model_request', draft.step)], [{ messages: [noticeOf(BUDGET_SPENT)] }]);
  return { next: [], stopReason: 'budget' };
}

const BUDGET_SPENT =
  'The run was stopped, as the budget of today for model calls is used up. What was done so far is stored; it can go on tomorrow (UTC).';

const noticeOf = (content: string): AiMessage => ({
  type: 'ai',
  id: newId(),
  content,
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
});

/**
 * Returns the error of a model that failed finally, from the mark of the message that replaces its answer. The mark of
 * another run, whose answer this run continues, is ignored.
 */
function modelErrorOf(message: Message | undefined, { runId }: RunContext): RunEnd['error'] {
  if (message?.type !== 'ai' || message.additional_kwargs['deerflow_error_fallback'] !== true) return undefined;
  const { error_type: name, run_id: markedBy = runId } = message.additional_kwargs;
  if (markedBy !== runId) return undefined;
  return { name: typeof name === 'string' ? name : 'ModelError', message: textOf(message.content) };
}
