import {
  type CommandAudit,
  type Content,
  type FileExpectation,
  type StateUpdate,
  type ThreadState,
  omitUndefined,
} from '@caribou/contracts';
import { z } from 'zod';
import type { RunContext } from './run-context.js';

/** The result of a tool call for the model. A failure is a result (`isError`), not an exception. */
export interface ToolOutcome {
  readonly content: Content;
  readonly isError?: boolean;
  /** The call may have taken effect, and its result is lost. */
  readonly isUnknown?: boolean;
  readonly artifact?: unknown;
  readonly additionalKwargs?: Readonly<Record<string, unknown>>;
  /** Id of the tool message; by default derived from the tool call's id, so that it is the same after a takeover. */
  readonly messageId?: string;
  /** An additional state update, applied together with the tool message. */
  readonly update?: StateUpdate;
  /** The run ends successfully after this turn's results. */
  readonly end?: boolean;
}

/** What a tool receives in addition to its arguments. */
export interface ToolContext {
  readonly run: RunContext;
  readonly toolCallId: string;
  /** `run_id:tool_call_id`: the key under which executors store the result. */
  readonly key: string;
  readonly state: ThreadState;
  /** Verdict of the command rules, recorded in the audit with the execution. */
  readonly audit?: CommandAudit;
  /** The content that the agent expects in the file; the change is refused when the file differs. */
  readonly expectedFile?: FileExpectation;
}

/** Marks a tool that stays hidden from the model until tool search finds it, when tool search is on. */
export interface Deferral {
  /** Keywords in a user's message that reveal the tool without a search. */
  readonly keywords?: readonly string[];
  /** 0 to 100; the higher is preferred when more tools match than may be revealed. */
  readonly priority?: number;
}

/** Optional properties of a tool besides its schema. */
export interface ToolTraits {
  /** Its results are untrusted text, such as a web page or a remote server's answer. */
  readonly remote?: boolean;
  readonly deferred?: Deferral;
  /** It has no side effect: a call may be repeated after a crash. */
  readonly readOnly?: boolean;
  /** Name of the tool group; an agent has a group as a whole or not at all. */
  readonly group?: string;
}

export interface Tool<Input extends z.ZodType = z.ZodType> extends ToolTraits {
  readonly name: string;
  /** Shown to the model. */
  readonly description: string;
  readonly input: Input;
  readonly run: (input: z.infer<Input>, context: ToolContext) => Promise<ToolOutcome>;
}

/** A tool with its input type erased, for lists of tools; `invoke` parses the arguments before it runs. */
export interface AnyTool extends ToolTraits {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the arguments, as sent to the model. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Parses the arguments and runs; invalid arguments give an error outcome that names the field. */
  invoke(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolOutcome>;
}

/** Creates a tool from its schema and body; the schema's descriptions document it for the model. */
export function defineTool<Input extends z.ZodType>(tool: Tool<Input>): AnyTool {
  return {
    name: tool.name,
    description: tool.description,
    ...omitUndefined({ remote: tool.remote, deferred: tool.deferred, readOnly: tool.readOnly, group: tool.group }),
    parameters: z.toJSONSchema(tool.input, { io: 'input' }),
    async invoke(args, context) {
      const parsed = tool.input.safeParse(args);
      if (parsed.success) return tool.run(parsed.data, context);
      const issues = parsed.error.issues
        .slice(0, 5)
        .map((issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`);
      return { content: `Error: Invalid arguments for tool '${tool.name}': ${issues.join('; ')}`, isError: true };
    },
  };
}
