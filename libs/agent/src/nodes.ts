import { type AiMessage, newId, textOf } from '@caribou/contracts';
import type { AgentRun, Decision } from './agent-run.js';
import { executeToolCalls } from './execute-tool-calls.js';
import { takeModelTurn } from './model-turn.js';
import { hasPending, pendingCalls } from './pending-calls.js';
import { taskStart, type TurnDraft } from './turn-draft.js';

/** One model turn with its hooks. The error of a model that failed for good is decided by the message's mark. */
export async function takeModelNode(agent: AgentRun, draft: TurnDraft, turnsLeft: number): Promise<Decision> {
  const { chain, run } = agent;
  if (turnsLeft <= 0) return refuseTurn(agent.options.maxTurns, draft);
  if (await draft.runHooks(chain, 'beforeModel', run)) return { kind: 'end' };
  const start = taskStart('model_request', draft.step);
  await run.emit(start);
  const message = await takeModelTurn({ ...agent, tools: toolsOf(agent), state: draft.state, step: draft.step });
  draft.add([start], [{ messages: [message] }]);
  draft.count(message.usage_metadata);
  const ended = await draft.runHooks(chain, 'afterModel', run);
  if (message.additional_kwargs['deerflow_error_fallback'] === true) return { kind: 'failed', error: errorOf(message) };
  if (ended || !hasPending(pendingCalls(draft.state))) return { kind: 'end' };
  return { kind: 'next', node: 'tools' };
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

function errorOf(message: AiMessage): { readonly name: string; readonly message: string } {
  const name = message.additional_kwargs['error_type'];
  return { name: typeof name === 'string' ? name : 'ModelError', message: textOf(message.content) };
}

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
