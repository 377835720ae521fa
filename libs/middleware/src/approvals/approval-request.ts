import {
  type ApprovalRequest,
  callHashOf,
  type DecisionType,
  toApprovalAnswer,
  type ToolCall,
} from '@caribou/contracts';
import type { AgentMiddleware, InterruptRequest, RunContext, ToolCallRequest, ToolOutcome } from '@caribou/core';
import { type ApprovalPolicy, findRequiredApproval, type RequiredApproval } from './approval-policy.js';
import { decisionsAbout } from './decided-calls.js';
import { shownArgs } from './shown-args.js';

const NAME = 'approval-request';

/** Bytes that the schema of the arguments may have in a question. */
const MAX_SCHEMA_BYTES = 16 * 1024;

/**
 * Has a person decide a call that the policy or a rule for commands asks for, before it is executed: the run ends as interrupted.
 * It is inside all layers that check or change a call, so that nobody is asked for a call that one of them refuses, and what is
 * asked for is exactly what will be executed. A call that differs from the one that was approved is asked for again, as is one that
 * was edited into a call that only an administrator may approve.
 */
export function approvalRequest(policy: ApprovalPolicy): AgentMiddleware {
  return {
    name: NAME,
    async wrapToolCall(request, next, run) {
      const required = request.tool === undefined ? undefined : findRequiredApproval(toCheckedCall(request), policy);
      if (required === undefined || isApproved(request, required, run)) return next(request);
      run.recordDecision(NAME, 'asked', { tool: request.call.name });
      await run.interrupt(toInterrupt(request, required, run));
      // There is an answer, which approves another call: a layer outside changes the approved one each time.
      return notApproved(request.call.name);
    },
  };
}

const notApproved = (tool: string): ToolOutcome => ({
  content: `Error: Tool '${tool}' was not called: the call differs from the one that a person decided about.`,
  isError: true,
});

function toCheckedCall({ call, audit, approvalReason: reason }: ToolCallRequest) {
  return { call, ...(audit?.verdict === 'ask' ? { command: { rules: audit.rules, reason: reason ?? 'a rule' } } : {}) };
}

function isApproved({ call, state }: ToolCallRequest, { decider }: RequiredApproval, run: RunContext): boolean {
  const hash = callHashOf(run.threadId, call);
  return decisionsAbout(state, call, run.threadId).some(
    ({ interrupt, approvedHash }) => approvedHash === hash && (decider === 'owner' || interrupt.decider === 'admin'),
  );
}

function toInterrupt(
  { call, tool }: ToolCallRequest,
  required: RequiredApproval,
  { threadId, clock }: RunContext,
): InterruptRequest {
  const { decider, expiresAfterMs, onExpiry } = required;
  const hash = callHashOf(threadId, call);
  return {
    kind: 'approval',
    value: toValue(call, { hash, schema: tool?.parameters, required }),
    // The terms are part of the key: a call that was decided on others is another question.
    key: `${hash}:${decider}`,
    decider,
    ...(expiresAfterMs === undefined
      ? {}
      : { expiresAtMs: clock.now() + expiresAfterMs, onExpiry: toApprovalAnswer(expiryDecision(onExpiry)) }),
  };
}

const expiryDecision = (onExpiry: RequiredApproval['onExpiry']) =>
  onExpiry === 'approve'
    ? ({ type: 'approve' } as const)
    : ({ type: 'reject', message: 'Nobody decided in time.' } as const);

interface Asked {
  readonly hash: string;
  readonly schema: Readonly<Record<string, unknown>> | undefined;
  readonly required: RequiredApproval;
}

/** A call whose arguments are shown cut cannot be edited, as the person would send back what was cut. */
function toValue(call: ToolCall, { hash, schema, required }: Asked): ApprovalRequest {
  const { args, isCut } = shownArgs(call.args);
  const possible = required.allowedDecisions.filter((decision) => decision !== 'edit' || !isCut);
  const allowed: readonly DecisionType[] = possible.length === 0 ? ['reject'] : possible;
  const isShown = schema !== undefined && Buffer.byteLength(JSON.stringify(schema)) <= MAX_SCHEMA_BYTES;
  return {
    action_requests: [{ name: call.name, args, description: describe(call.name, required.message) }],
    review_configs: [
      {
        action_name: call.name,
        allowed_decisions: [...allowed],
        ...(isShown && allowed.includes('edit') ? { args_schema: { ...schema } } : {}),
      },
    ],
    call_hash: hash,
    tool_call_id: call.id,
    reason: { rules: required.rules.slice(0, MAX_RULES), message: required.message.slice(0, MAX_REASON_CHARS) },
    ...(isCut ? { args_truncated: true } : {}),
  };
}

const MAX_RULES = 20;
const MAX_REASON_CHARS = 2_000;

const describe = (tool: string, message: string): string =>
  `The agent asks to call ${tool}: ${message}`.slice(0, MAX_REASON_CHARS);
