import type { ToolCall } from '@caribou/contracts';
import type { AgentMiddleware, ToolCallRequest } from '@caribou/core';
import { type DecidedCall, decisionsAbout } from './decided-calls.js';
import { answeredOutcome, executedOutcome, rejectedOutcome } from './decision-outcomes.js';

/**
 * Carries out what people decided about tool calls: a rejected call is answered here, an edited one passes all layers with its new
 * arguments as if the model had made it, and what an executed call returns says who approved it. `approval-request` is the
 * layer that asks.
 */
export function approval(): AgentMiddleware {
  return {
    name: 'approval',
    async wrapToolCall(request, next, run) {
      const decisions = decisionsAbout(request.state, request.call, run.threadId);
      const decided = decisions.at(-1);
      if (decided === undefined) return next(request);
      const { call } = request;
      run.recordDecision('approval', decided.decision.type, { tool: call.name.slice(0, 64) });
      if (decided.decision.type === 'reject') return rejectedOutcome({ call, decided });
      if (decided.decision.type === 'respond') return answeredOutcome({ call, decided });
      const executed = afterEdits(request, decisions);
      return executedOutcome(await next({ ...request, call: executed }), { call, decided, executed });
    },
  };
}

/** The call with the arguments of the last edit. */
function afterEdits({ call }: ToolCallRequest, decisions: readonly DecidedCall[]): ToolCall {
  const edited = decisions.findLast(({ decision }) => decision.edited !== undefined)?.decision.edited;
  return edited === undefined ? call : { ...call, args: edited.args };
}
