import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DecisionType } from '../settings/approval-rules.js';
import type { ToolCall } from './messages.js';

/** Maximum characters of what a person writes to the model. */
const MAX_MESSAGE_CHARS = 20_000;

const Json = z.record(z.string(), z.unknown());

/** The value of an interrupt of kind `approval`, in the format of LangChain's human-in-the-loop middleware. */
export const ApprovalRequest = z.object({
  /** One action: each call is an interrupt of its own. */
  action_requests: z.array(z.object({ name: z.string(), args: Json, description: z.string() })).length(1),
  review_configs: z
    .array(
      z.object({ action_name: z.string(), allowed_decisions: z.array(DecisionType), args_schema: Json.optional() }),
    )
    .length(1),
  /** Identifies the exact call; absent when the model's next call is asked for. */
  call_hash: z.string().optional(),
  tool_call_id: z.string().optional(),
  reason: z.object({ rules: z.array(z.string()), message: z.string() }),
  /** Whether long arguments are shown cut. */
  args_truncated: z.literal(true).optional(),
});
export type ApprovalRequest = z.infer<typeof ApprovalRequest>;

const bound = { call_hash: z.string().max(64).optional() };
const EditedAction = z.object({ name: z.string(), args: Json });

const GivenDecision = z.discriminatedUnion('type', [
  z.object({ type: z.literal('approve'), ...bound }),
  z.object({
    type: z.literal('edit'),
    ...bound,
    edited_action: EditedAction.optional(),
    editedAction: EditedAction.optional(),
  }),
  z.object({ type: z.literal('reject'), ...bound, message: z.string().max(MAX_MESSAGE_CHARS).nullish() }),
  z.object({ type: z.literal('respond'), ...bound, message: z.string().max(MAX_MESSAGE_CHARS) }),
  z.object({ type: z.literal('answer'), ...bound, message: z.string().max(MAX_MESSAGE_CHARS) }),
]);

/** A decision about one call. */
export interface ApprovalDecision {
  readonly type: DecisionType;
  /** The call that the client saw, if it says so. */
  readonly callHash?: string;
  /** With `edit` only. */
  readonly edited?: { readonly name: string; readonly args: Readonly<Record<string, unknown>> };
  /** With `reject`, where one was given, and `respond`. */
  readonly message?: string;
}

/** The answer to an interrupt of kind `approval` as clients send it: `{decisions: [...]}` with one decision. */
export const ApprovalAnswer = z
  .object({ decisions: z.array(GivenDecision).length(1, 'must have one decision') })
  .transform(({ decisions: [given] }, context): ApprovalDecision => {
    if (given === undefined) return z.NEVER;
    const callHash = given.call_hash === undefined ? {} : { callHash: given.call_hash };
    if (given.type === 'approve') return { type: 'approve', ...callHash };
    if (given.type !== 'edit') {
      const message = given.message ?? '';
      return {
        type: given.type === 'answer' ? 'respond' : given.type,
        ...callHash,
        ...(message === '' ? {} : { message }),
      };
    }
    const edited = given.edited_action ?? given.editedAction;
    if (edited !== undefined) return { type: 'edit', ...callHash, edited };
    context.addIssue({ code: 'custom', path: ['decisions', 0, 'edited_action'], message: 'is needed to edit a call' });
    return z.NEVER;
  });

/** A decision in the format that is stored, which `ApprovalAnswer` reads. */
export const toApprovalAnswer = ({ type, edited, message }: ApprovalDecision): Readonly<Record<string, unknown>> => ({
  decisions: [
    {
      type,
      ...(edited === undefined ? {} : { edited_action: edited }),
      ...(message === undefined ? {} : { message }),
    },
  ],
});

/** Identifies a call by everything that is executed: SHA-256 of its canonical JSON, in hexadecimal digits. */
export const callHashOf = (threadId: string, { id, name, args }: Pick<ToolCall, 'id' | 'name' | 'args'>): string =>
  createHash('sha256')
    .update(canonicalJson([threadId, id, name, args]))
    .digest('hex');

/** JSON with the keys of all objects in order. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`;
}

/** What the transcript says of a decided call, in `additional_kwargs.approval` of its tool message. */
export interface ApprovalNote {
  readonly decision: DecisionType;
  /** User id; null: the deadline decided. */
  readonly by: string | null;
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly interrupt_id: string;
  /** The hash of the call that was executed or refused. */
  readonly call_hash: string;
  /** With `edit`: the arguments before and after it; long texts are cut. */
  readonly original_args?: Readonly<Record<string, unknown>>;
  readonly args?: Readonly<Record<string, unknown>>;
}
