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
/** Arguments of a tool that an error lists. */
const MAX_NAMES = 20;
const MAX_NAMES_CHARS = 500;

/**
 * Reads the answer to an interrupt of kind `approval`.
 *
 * @throws {InvalidRequestError} when it is no decision, or one that is not allowed here, or the edited call has another tool or
 *   arguments that the tool does not take; the message names the field
 * @throws {ConflictError} when it names another call than the one that waits
 */
export function readApproval({ id, value }: InterruptRecord, answer: unknown): ApprovalDecision {
  const asked = ApprovalRequest.parse(value);
  const parsed = ApprovalAnswer.safeParse(answer);
  if (!parsed.success) throw refusal(id, describeIssue(parsed.error));
  const { callHash } = parsed.data;
  if (callHash !== undefined && callHash !== asked.call_hash)
    throw new ConflictError(`decisions[0].call_hash: interrupt ${id} is about another call`, {
      details: { interruptId: id, field: 'call_hash' },
    });
  const fault = faultOf(parsed.data, asked);
  if (fault !== undefined) throw refusal(id, `decisions[0].${fault}`);
  return parsed.data;
}

/** Why a decision is not possible for a call; begins with the field. */
function faultOf(
  { type, edited }: ApprovalDecision,
  { action_requests: [action], review_configs: [review] }: ApprovalRequest,
): string | undefined {
  if (action === undefined || review === undefined) return 'type: nothing is asked';
  const { allowed_decisions: allowed, args_schema: schema } = review;
  if (!allowed.includes(type)) return `type: must be one of ${allowed.join(', ')}`;
  if (edited === undefined) return undefined;
  if (edited.name !== action.name) return `edited_action.name: must be ${action.name}`;
  const fault = argumentFault(edited.args, schema) ?? unknownArgument(edited.args, action.args, schema);
  return fault === undefined ? undefined : `edited_action.args${fault}`;
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

/**
 * Names an argument that neither the tool describes nor the call had: a tool would ignore a name that a person has misspelt, and be
 * executed without it. Schemas that say that they take others are believed.
 */
function unknownArgument(
  args: Readonly<Record<string, unknown>>,
  asked: Readonly<Record<string, unknown>>,
  schema: Readonly<Record<string, unknown>> = {},
): string | undefined {
  const { properties, additionalProperties: others = false, patternProperties } = schema;
  if (!isRecord(properties) || others !== false || patternProperties !== undefined) return undefined;
  const unknown = Object.keys(args).find((name) => !Object.hasOwn(properties, name) && !Object.hasOwn(asked, name));
  if (unknown === undefined) return undefined;
  const names = Object.keys(properties).slice(0, MAX_NAMES).join(', ').slice(0, MAX_NAMES_CHARS);
  return `.${unknown.slice(0, 100)}: the tool has no such argument; it has ${names}`;
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
