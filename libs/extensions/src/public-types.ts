import type {
  AiMessage,
  Content,
  HiddenChannel,
  Message,
  RunContextValues,
  textOf,
  ThreadState,
} from '@caribou/contracts';
import type { Deferral, ModelModule } from '@caribou/core';
import type { z } from 'zod';
import type { GivenMessage, GivenUpdate } from './given-step.js';
import type { CustomMiddleware, CustomModel, CustomTool } from './custom-types.js';

/** The public contract of custom code, documented in docs/custom-middleware.md, docs/custom-tool.md and docs/custom-model.md. */

type Later<T> = T | Promise<T>;

/** The thread as custom code sees it. It is read, never changed. */
export type ShownState = Readonly<Omit<ThreadState, HiddenChannel>>;

/** Numbers and short constants of a log line or a decision, never text of a user or a model. */
export type PlainFields = Readonly<Record<string, string | number | boolean>>;

/** What custom code may know about its run. */
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
  /** The middleware's state in this thread; undefined when there is none, or it does not match the schema. */
  readonly own: Own | undefined;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Writes a line into the service's log. Only fields of the log's closed list are written. */
  log(fields: PlainFields, text: string): void;
  /** Publishes a `custom` event to the run's watchers; at most 64 KiB of JSON. */
  emit(data: unknown): Promise<void>;
  /**
   * Asks a person and returns the answer as JSON. Until there is one, this leaves the hook or the tool by an exception, which
   * must not be caught: the run ends as `interrupted` and holds nothing. The run that continues calls the hook or the tool
   * again from its beginning; so what comes before the call must be repeatable. Not in `wrapModelCall` and `afterAgent`.
   */
  interrupt(question: CustomQuestion): Promise<unknown>;
  /** Records what was decided, for the run's log. */
  decided(decision: string, fields?: PlainFields): void;
}

/** A question to a person. */
export interface CustomQuestion {
  /** What is asked: plain JSON, with the schema at most 64 KiB. Clients get it as the interrupt's value. */
  readonly value: unknown;
  /** JSON Schema of the answer, for clients; the answer itself is not checked. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** Distinguishes several questions of one hook or tool call; by default they are numbered in their order. */
  readonly key?: string;
  /** Who may answer, default `owner`: the thread's owner or an administrator. */
  readonly decider?: 'owner' | 'admin';
  /** After so many milliseconds `onExpiry`, or null, is the answer; default: it waits for ever. */
  readonly expiresInMs?: number;
  readonly onExpiry?: unknown;
}

/** What a before/after hook decides. */
export interface CustomStep<Own> {
  readonly update?: GivenUpdate;
  /** State to store in the thread, at most 64 KiB of JSON; null deletes it. */
  readonly own?: Own | null;
  /** The run ends (successfully) here. Ignored from `afterAgent`. */
  readonly end?: boolean;
  /** From `afterModel`: the model is called again where the run would otherwise end. */
  readonly again?: boolean;
  /** From `beforeModel`: the change is made durable before the model is called. */
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
  /** Tools may be removed, not added. */
  readonly tools: readonly ShownTool[];
  readonly toolChoice?: 'auto' | 'none';
  readonly state: ShownState;
}

/** One tool call. It can be observed, refused or answered, but not changed, as the command rules have checked it. */
export interface CustomToolRequest {
  readonly call: { readonly id: string; readonly name: string; readonly args: Readonly<Record<string, unknown>> };
  /** Undefined when the model named a tool that does not exist. */
  readonly tool: ShownTool | undefined;
  readonly state: ShownState;
}

/** The result of a tool call for the model. */
export interface ToolAnswer {
  readonly content: Content;
  readonly isError?: boolean;
  readonly artifact?: unknown;
  /** The run ends successfully after this turn's results. */
  readonly end?: boolean;
}

export interface OwnToolAnswer<Own> extends ToolAnswer {
  /** As in a step. Calls of one message run concurrently, and the last one wins. */
  readonly own?: Own | null;
}

type StepHook<Own> = (state: ShownState, context: CustomContext<Own>) => Later<CustomStep<Own> | undefined | void>;

export interface MiddlewareDefinition<Own> {
  /** `^[a-z][a-z0-9-]{0,40}$`, not the name of a built-in one. */
  readonly name: string;
  /** Schema of its state in a thread, which is plain JSON. */
  readonly state?: z.ZodType<Own>;
  readonly tools?: readonly CustomTool<Own>[];
  /** Timeout of each hook, without the time of `next`; default 60 s. */
  readonly timeoutMs?: number;
  /** `afterModel` calls another process, so the answer is made durable first. */
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
  /** An idempotency key: the same when the call is repeated after a crash. */
  readonly key: string;
}

/** A schema made with `z`, or a JSON Schema of an object as plain data. */
export type ToolInput = z.ZodType | Readonly<Record<string, unknown>>;

/** The argument of `run`: the output of a `z` schema, or the arguments that match the JSON Schema. */
export type InputOf<Input extends ToolInput> = Input extends z.ZodType
  ? z.output<Input>
  : Readonly<Record<string, unknown>>;

export interface ToolDefinition<Input extends ToolInput, Own> {
  /** `^[a-z][a-z0-9_]{0,63}$`, not the name of a built-in one. */
  readonly name: string;
  /** Shown to the model. */
  readonly description: string;
  /** Schema of the arguments; its descriptions document them for the model. */
  readonly input: Input;
  /** It has no side effect and may be repeated after a crash. Otherwise a lost outcome is reported as unknown. */
  readonly readOnly?: boolean;
  /** Its results are untrusted text. */
  readonly remote?: boolean;
  /** Hidden until it is looked up, when tool search is on. */
  readonly deferred?: Deferral;
  /** Default 60 s. */
  readonly timeoutMs?: number;
  /** Errors that it throws are reported to the model. */
  readonly run: (input: InputOf<Input>, context: CustomToolContext<Own>) => Later<OwnToolAnswer<Own> | string>;
}

/** The toolkit that is passed to custom code, so that it does not import the product. */
export interface Toolkit {
  /** @throws {ExtensionError} naming what is wrong with the definition */
  defineMiddleware<Own = undefined>(definition: MiddlewareDefinition<Own>): CustomMiddleware;
  /** @throws {ExtensionError} naming what is wrong with the definition */
  defineTool<Input extends ToolInput, Own>(definition: ToolDefinition<Input, Own>): CustomTool<Own>;
  /** @throws {ExtensionError} naming what is wrong with the definition */
  defineModel(definition: ModelModule): CustomModel;
  readonly z: typeof z;
  /** The text of a message's content, in whatever form it comes. */
  readonly textOf: typeof textOf;
}
