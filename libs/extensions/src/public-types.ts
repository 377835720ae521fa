import type { AiMessage, Content, Message, RunContextValues, textOf, ThreadState } from '@caribou/contracts';
import type { Deferral } from '@caribou/core';
import type { z } from 'zod';
import type { GivenMessage, GivenUpdate } from './given-step.js';
import type { CustomMiddleware, CustomTool } from './toolkit-made.js';

/** The public contract of custom code, told in words in docs/custom-middleware.md and docs/custom-tool.md. */

type Later<T> = T | Promise<T>;

/** The thread as custom code sees it. It is read, never changed. */
export type ShownState = Readonly<Omit<ThreadState, 'guards'>>;

/** Numbers and words of a log line or a decision, nothing a person or a model wrote. */
export type PlainFields = Readonly<Record<string, string | number | boolean>>;

/** What custom code may know of the run it works in. */
export interface CustomContext<Own> {
  readonly userId: string;
  readonly threadId: string;
  readonly runId: string;
  /** 1, and one more with each takeover by another process. */
  readonly attempt: number;
  /** `context` of the request that started the run. */
  readonly switches: Readonly<RunContextValues>;
  /** Aborted when the run is cancelled, lost or drained, and at the deadline. Pass it on to whatever is awaited. */
  readonly signal: AbortSignal;
  /** What the middleware kept in this thread; undefined when there is nothing, or it does not fit the schema. */
  readonly own: Own | undefined;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Writes a line into the service's log. Only fields of the log's closed list are kept. */
  log(fields: PlainFields, text: string): void;
  /** Tells the run's watchers by a `custom` event; at most 64 KiB of JSON. */
  emit(data: unknown): Promise<void>;
  /** Records what was decided, for the run's log. */
  decided(decision: string, fields?: PlainFields): void;
}

/** What a before/after hook decides. */
export interface CustomStep<Own> {
  readonly update?: GivenUpdate;
  /** Kept in the thread from here on, at most 64 KiB of JSON; null takes it out. */
  readonly own?: Own | null;
  /** The run ends (successfully) here. Not heard of `afterAgent`. */
  readonly end?: boolean;
  /** Of `afterModel`: the model is called once more in the place of the run's end. */
  readonly again?: boolean;
  /** Of `beforeModel`: what was changed is made durable before the model is called. */
  readonly durable?: boolean;
  /** Why the run stopped early. */
  readonly stopReason?: string;
  /** Tokens of the hook's own model call. */
  readonly usage?: { readonly model: string; readonly inputTokens: number; readonly outputTokens: number };
}

export interface ShownTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** One model call. A changed copy for `next` changes this call only; `model` and `state` cannot be changed. */
export interface CustomModelRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly (Message | GivenMessage)[];
  /** May be left out, not added. */
  readonly tools: readonly ShownTool[];
  readonly toolChoice?: 'auto' | 'none';
  readonly state: ShownState;
}

/** One tool call. It can be watched, refused or answered, not changed: it was judged by the rules for commands. */
export interface CustomToolRequest {
  readonly call: { readonly id: string; readonly name: string; readonly args: Readonly<Record<string, unknown>> };
  /** Undefined when the model named a tool that does not exist. */
  readonly tool: ShownTool | undefined;
  readonly state: ShownState;
}

/** What the model gets back for a tool call. */
export interface ToolAnswer {
  readonly content: Content;
  readonly isError?: boolean;
  readonly artifact?: unknown;
  /** The run ends successfully after this turn's results. */
  readonly end?: boolean;
}

export interface OwnToolAnswer<Own> extends ToolAnswer {
  /** As of a step. Calls of one message run side by side: the last of them stays. */
  readonly own?: Own | null;
}

type StepHook<Own> = (state: ShownState, context: CustomContext<Own>) => Later<CustomStep<Own> | undefined | void>;

export interface MiddlewareDefinition<Own> {
  /** `^[a-z][a-z0-9-]{0,40}$`, not the name of a built-in one. */
  readonly name: string;
  /** Of what it keeps in a thread: plain JSON. */
  readonly state?: z.ZodType<Own>;
  readonly tools?: readonly CustomTool<Own>[];
  /** Of each hook, without the time of `next`; default 60 s. */
  readonly timeoutMs?: number;
  /** `afterModel` calls another process: the answer is made durable before. */
  readonly slowAfterModel?: boolean;
  readonly beforeAgent?: StepHook<Own>;
  readonly beforeModel?: StepHook<Own>;
  readonly wrapModelCall?: (
    request: CustomModelRequest,
    next: (request?: CustomModelRequest) => Promise<AiMessage>,
    context: CustomContext<Own>,
  ) => Later<AiMessage | GivenMessage>;
  readonly afterModel?: StepHook<Own>;
  readonly wrapToolCall?: (
    request: CustomToolRequest,
    next: () => Promise<ToolAnswer>,
    context: CustomContext<Own>,
  ) => Later<OwnToolAnswer<Own>>;
  readonly afterAgent?: StepHook<Own>;
}

export interface CustomToolContext<Own> extends CustomContext<Own> {
  readonly state: ShownState;
  readonly toolCallId: string;
  /** The same whenever the call is repeated after a crash: a key for work that must not be done twice. */
  readonly key: string;
}

/** A schema made with `z`, or a JSON Schema of an object as plain data. */
export type ToolInput = z.ZodType | Readonly<Record<string, unknown>>;

/** What `run` is handed: what a schema of `z` gives, or the arguments as they fit the JSON Schema. */
export type InputOf<Input extends ToolInput> = Input extends z.ZodType
  ? z.output<Input>
  : Readonly<Record<string, unknown>>;

export interface ToolDefinition<Input extends ToolInput, Own> {
  /** `^[a-z][a-z0-9_]{0,63}$`, not the name of a built-in one. */
  readonly name: string;
  /** What the model reads. */
  readonly description: string;
  /** Of the arguments; its descriptions are the model's documentation. */
  readonly input: Input;
  /** It changes nothing anywhere: after a crash it may run once more. Else an outcome that is lost is told as unknown. */
  readonly readOnly?: boolean;
  /** Its results were written by strangers. */
  readonly remote?: boolean;
  /** Hidden until it is looked up, when tool search is on. */
  readonly deferred?: Deferral;
  /** Default 60 s. */
  readonly timeoutMs?: number;
  /** What it throws is told to the model as an error. */
  readonly run: (input: InputOf<Input>, context: CustomToolContext<Own>) => Later<OwnToolAnswer<Own> | string>;
}

/** What custom code is handed, so that it imports nothing of ours. */
export interface Toolkit {
  /** @throws {ExtensionError} naming what is wrong with the definition */
  defineMiddleware<Own = undefined>(definition: MiddlewareDefinition<Own>): CustomMiddleware;
  /** @throws {ExtensionError} naming what is wrong with the definition */
  defineTool<Input extends ToolInput, Own>(definition: ToolDefinition<Input, Own>): CustomTool<Own>;
  readonly z: typeof z;
  /** The text of a message's content, in whatever form it comes. */
  readonly textOf: typeof textOf;
}
