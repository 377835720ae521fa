import {
  ApprovalAnswer,
  type ApprovalDecision,
  ApprovalRequest,
  ConflictError,
  type InterruptRecord,
  InvalidRequestError,
  isRecord,
} from '@caribou/contracts';
import { z } from 'zod';

/** Faults of edited arguments that one error names. */
const MAX_FAULTS = 5;

/**
 * Reads the answer to an interrupt of kind `approval`.
 *
 * @throws {InvalidRequestError} when it is no decision, or one that is not allowed here, or the edited call has another tool or
 *   arguments that the tool does not take; the message names the field
 * @throws {ConflictError} when it names another call than the one that waits
 */
export function readApproval({ id, value }: InterruptRecord, answer: unknown): ApprovalDecision {
  const { action_requests, review_configs, call_hash: hash } = ApprovalRequest.parse(value);
  const [action] = action_requests;
  const [review] = review_configs;
  const parsed = ApprovalAnswer.safeParse(answer);
  if (!parsed.success) throw refusal(id, describeIssue(parsed.error));
  const { type, callHash, edited } = parsed.data;
  if (callHash !== undefined && callHash !== hash)
    throw new ConflictError(`decisions[0].call_hash: interrupt ${id} is about another call`, {
      details: { interruptId: id },
    });
  if (review?.allowed_decisions.includes(type) !== true)
    throw refusal(id, `decisions[0].type: must be one of ${review?.allowed_decisions.join(', ') ?? 'none'}`);
  if (edited !== undefined && edited.name !== action?.name)
    throw refusal(id, `decisions[0].edited_action.name: must be ${action?.name ?? 'the tool that was asked for'}`);
  const fault = edited === undefined ? undefined : argumentFault(edited.args, review.args_schema);
  if (fault !== undefined) throw refusal(id, `decisions[0].edited_action.args${fault}`);
  return parsed.data;
}

const refusal = (id: string, fault: string): InvalidRequestError =>
  new InvalidRequestError(`the answer to interrupt ${id}: ${fault}`, { details: { interruptId: id } });

const describeIssue = ({ issues }: z.ZodError): string =>
  issues
    .slice(0, MAX_FAULTS)
    .map(({ path, message }) => `${path.length === 0 ? 'the answer' : formatPath(path)}: ${message}`)
    .join('; ');

const formatPath = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}${text === '' ? '' : '.'}${String(part)}`),
    '',
  );

/** Describes why the tool would refuse the arguments, as far as its schema says it; the tool checks them again. */
function argumentFault(args: unknown, schema: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const parser = schema === undefined ? undefined : parserOf(schema);
  const parsed = parser?.safeParse(args);
  if (parsed === undefined || parsed.success) return undefined;
  return parsed.error.issues
    .slice(0, MAX_FAULTS)
    .map(({ path, message }) => `${path.length === 0 ? '' : `.${formatPath(path)}`}: ${message}`)
    .join('; ');
}

/** Undefined for a schema with keywords that are not supported. */
function parserOf(schema: Readonly<Record<string, unknown>>): z.ZodType | undefined {
  try {
    return z.fromJSONSchema(withoutPatterns(schema) as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    return undefined;
  }
}

/** Regular expressions of MCP servers are left to the tool: one may take arbitrarily long. */
function withoutPatterns(value: unknown, isNames = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutPatterns(item));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => isNames || (key !== 'pattern' && key !== 'patternProperties'))
      .map(([key, item]) => [key, withoutPatterns(item, !isNames && (key === 'properties' || key === '$defs'))]),
  );
}
