import { type AiMessage, type Message, newId, type NextNode, textOf } from '@caribou/contracts';
import type { RunContext } from '@caribou/core';
import type { AgentRun, Decision } from './agent-run.js';
import { executeToolCalls } from './execute-tool-calls.js';
import { takeModelTurn } from './model-turn.js';
import { hasPending, pendingCalls } from './pending-calls.js';
import { taskStart, type TurnDraft } from './turn-draft.js';

/** One model turn with its hooks. The error of a model that failed for good is decided by the message's mark. */
export async function takeModelNode(agent: AgentRun, draft: TurnDraft, turnsLeft: number): Promise<Decision> {
  const { chain, run } = agent;
  if (turnsLeft <= 0) return refuseTurn(agent.options.maxTurns, draft);
  const before = await draft.runHooks(chain, 'beforeModel', run);
  if (before.ended) return { kind: 'end' };
  if (before.durable && (await stopsAt('model_request', agent, draft))) return YIELDED;
  const start = taskStart('model_request', draft.step);
  await run.emit(start);
  const message = await takeModelTurn({ ...agent, tools: toolsOf(agent), state: draft.state, step: draft.step });
  draft.add([start], [{ messages: [message] }]);
  draft.count(agent.model.name, message.usage_metadata);
  const slow = chain.some((middleware) => middleware.isSlowAfterModel?.(draft.state, run) === true);
  if (slow && (await stopsAt('after_model', agent, draft))) return YIELDED;
  return takeAfterModel(agent, draft, turnsLeft - 1);
}

/** The hooks behind an answer, and what comes of it; `turnsLeft` are those behind this one. */
export async function takeAfterModel({ chain, run }: AgentRun, draft: TurnDraft, turnsLeft: number): Promise<Decision> {
  const answer = draft.state.messages.at(-1);
  const { ended, again } = await draft.runHooks(chain, 'afterModel', run);
  const left = draft.state.messages.findLast(({ id }) => id === answer?.id);
  const failure = failureOf(answer, run) ?? failureOf(left, run);
  if (failure !== undefined) return { kind: 'failed', error: failure };
  if (ended) return { kind: 'end' };
  if (hasPending(pendingCalls(draft.state))) return { kind: 'next', node: 'tools' };
  // With no turn left an answer that stands is the end; without one the limit is told.
  const stands = draft.state.messages.at(-1)?.type === 'ai';
  return again && (turnsLeft > 0 || !stands) ? { kind: 'next', node: 'model_request' } : { kind: 'end' };
}

const YIELDED = { kind: 'yielded' } as const;

/**
 * Commits at a border inside a node; true when the host asks to stop there.
 *
 * @throws the signal's reason when the run was aborted meanwhile: nothing is told after that.
 */
async function stopsAt(next: NextNode, { host, run }: AgentRun, draft: TurnDraft): Promise<boolean> {
  if ((await host.commit(draft.take([next]))) === 'yield') return true;
  run.signal.throwIfAborted();
  return false;
}

/** The unanswered tool calls of the last AI message; each call is a task of its own, as in LangChain's agent. */
export async function takeToolsNode(agent: AgentRun, draft: TurnDraft): Promise<Decision> {
  const { chain, run } = agent;
  const calls = pendingCalls(draft.state);
  const starts = [...calls.valid, ...calls.invalid].map(() => taskStart('tools', draft.step, '__pregel_push'));
  for (const start of starts) await run.emit(start);
  const results = await executeToolCalls({ chain, tools: toolsOf(agent), run, state: draft.state, calls });
  draft.add(
    starts,
    results.map((result) => result.update),
  );
  return results.some((result) => result.end) ? { kind: 'end' } : { kind: 'next', node: 'model_request' };
}

const toolsOf = ({ tools, chain }: AgentRun): AgentRun['tools'] => [
  ...tools,
  ...chain.flatMap((middleware) => middleware.tools ?? []),
];

/**
 * The error of a model that failed for good, by the mark of the message in its place. A mark of another run, whose
 * answer this one goes on from, counts for nothing.
 */
function failureOf(message: Message | undefined, { runId }: RunContext): LoopError | undefined {
  if (message?.type !== 'ai' || message.additional_kwargs['deerflow_error_fallback'] !== true) return undefined;
  const { error_type: name, run_id: markedBy = runId } = message.additional_kwargs;
  if (markedBy !== runId) return undefined;
  return { name: typeof name === 'string' ? name : 'ModelError', message: textOf(message.content) };
}

type LoopError = Extract<Decision, { kind: 'failed' }>['error'];

function refuseTurn(maxTurns: number, draft: TurnDraft): Decision {
  const text = `The run was stopped after ${maxTurns} model turns without a final answer. Send a message to go on.`;
  draft.add([taskStart('model_request', draft.step)], [{ messages: [noticeOf(text)] }]);
  return { kind: 'failed', error: { name: 'GraphRecursionError', message: text }, stopReason: 'recursion_limit' };
}

const noticeOf = (content: string): AiMessage => ({
  type: 'ai',
  id: newId(),
  content,
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
});
