import {
  ChannelValues,
  ExtensionError,
  Message,
  type LogFields,
  newId,
  omitUndefined,
  RemoveMessage,
  type StateUpdate,
} from '@caribou/contracts';
import type { Step } from '@caribou/core';
import { z } from 'zod';
import { faultsOf, type OwnState } from './own-state.js';

/** A message of custom code; missing common fields are filled in. */
export type GivenMessage = { readonly type: 'human' | 'system' | 'ai' | 'tool' | 'remove' } & Readonly<
  Record<string, unknown>
>;

const MAX_REASON_CHARS = 100;
const MAX_MESSAGES = 1_000;

const Written = z.discriminatedUnion('type', [Message, RemoveMessage]);

/** Fills in the fields that every message has. */
const addMissingFields = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || !('type' in value)) return value;
  const calls = value.type === 'ai' ? { tool_calls: [], invalid_tool_calls: [] } : {};
  return { id: newId(), additional_kwargs: {}, response_metadata: {}, ...calls, ...value };
};

export const CompletedMessage = z.preprocess(addMissingFields, Message);

const { title, todos, artifacts } = ChannelValues.shape;

/** The parts of a thread that custom code may change. */
const Update = z.strictObject({
  title,
  todos,
  artifacts,
  messages: z.array(z.preprocess(addMissingFields, Written)).max(MAX_MESSAGES).optional(),
});

const GivenStep = z.strictObject({
  update: Update.optional(),
  own: z.unknown().optional(),
  end: z.boolean().optional(),
  again: z.boolean().optional(),
  durable: z.boolean().optional(),
  stopReason: z.string().min(1).max(MAX_REASON_CHARS).optional(),
  usage: z
    .strictObject({ model: z.string().min(1).max(200), inputTokens: z.int().min(0), outputTokens: z.int().min(0) })
    .optional(),
});

export interface GivenUpdate {
  /** Messages to append; one with an existing id replaces that message, `{type: 'remove', id}` removes one. */
  readonly messages?: readonly GivenMessage[];
  readonly title?: string;
  readonly todos?: readonly { readonly content: string; readonly status: 'pending' | 'in_progress' | 'completed' }[];
  readonly artifacts?: readonly string[];
}

/** The origin of a call or error of custom code. */
export interface Speaker {
  readonly kind: 'middleware' | 'tool';
  /** Name of the middleware, or of a tool that does not belong to one. */
  readonly name: string;
  /** Name of the hook or of the tool. */
  readonly place: string;
}

/** The log field that names the custom code. */
export const logFieldsOf = ({ kind, name }: Speaker): LogFields =>
  kind === 'tool' ? { tool: name } : { middleware: name };

/** `the middleware 'audit'`. */
export const describeSource = ({ kind, name }: Speaker): string => `the ${kind} '${name}'`;

export const invalidAnswer = (speaker: Speaker, what: string): ExtensionError =>
  new ExtensionError(`${describeSource(speaker)} gave a wrong answer in ${speaker.place}: ${what}`);

/**
 * Converts the result of a custom hook into a step for the loop.
 *
 * @throws {ExtensionError} naming middleware, hook and what is wrong
 */
export function toStep(given: unknown, own: OwnState<unknown>, speaker: Speaker): Step | undefined {
  if (given === undefined) return undefined;
  const parsed = GivenStep.safeParse(given);
  if (!parsed.success) throw invalidAnswer(speaker, faultsOf(parsed.error));
  const { update, own: value, usage, ...rest } = parsed.data;
  const change: StateUpdate = { ...update, ...own.write(value) };
  return {
    ...omitUndefined(rest),
    update: change,
    ...(usage === undefined ? {} : { usage: [{ caller: 'middleware', ...usage }] }),
  };
}
