import type { CommandAudit, Content, FileExpectation, StateUpdate, ThreadState } from '@caribou/contracts';
import { z } from 'zod';
import type { RunContext } from './run-context.js';

/** What the model gets back for a tool call. A failure is an answer (`isError`), not an exception. */
export interface ToolOutcome {
  readonly content: Content;
  readonly isError?: boolean;
  readonly artifact?: unknown;
  readonly additionalKwargs?: Readonly<Record<string, unknown>>;
  /** Id of the tool message; by default derived from the tool call's id, so a takeover answers under the same one. */
  readonly messageId?: string;
  /** Further change of state, reduced together with the tool message. */
  readonly update?: StateUpdate;
  /** The run ends successfully after this turn's results. */
  readonly end?: boolean;
}

/** What a tool gets beside its arguments. */
export interface ToolContext {
  readonly run: RunContext;
  readonly toolCallId: string;
  /** `run_id:tool_call_id`: the key under which executors keep the result. */
  readonly key: string;
  readonly state: ThreadState;
  /** What the rules said of the command; it goes on record with what runs. */
  readonly audit?: CommandAudit;
  /** What the agent knows of the file it is about to change; the change is refused when the file is another one. */
  readonly expectedFile?: FileExpectation;
}

/** A tool that a model is not told of before the agent looked it up, when tool search is on. */
export interface Deferral {
  /** Words of a person's message that show the tool unasked. */
  readonly keywords?: readonly string[];
  /** 0 to 100; higher first, when more tools are meant than may be shown. */
  readonly priority?: number;
}

/** What a list of tools may say of one beside its schema. */
export interface ToolTraits {
  /** Its results were written by strangers: a web page, a remote server. */
  readonly remote?: boolean;
  readonly deferred?: Deferral;
  /** It has no effect anywhere: a call may be made again after a crash. */
  readonly readOnly?: boolean;
  /** Name of the group that an agent may have or lack as a whole. */
  readonly group?: string;
}

export interface Tool<Input extends z.ZodType = z.ZodType> extends ToolTraits {
  readonly name: string;
  /** Shown to the model. */
  readonly description: string;
  readonly input: Input;
  readonly run: (input: z.infer<Input>, context: ToolContext) => Promise<ToolOutcome>;
}

/** A tool whose input type is erased, as lists of tools hold them; `invoke` parses before it runs. */
export interface AnyTool extends ToolTraits {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the arguments, as sent to the model. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Parses and runs; arguments that break the schema are an error outcome that names the field. */
  invoke(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolOutcome>;
}

/** Makes a tool from its schema and body; the schema's descriptions are the model's documentation. */
export function defineTool<Input extends z.ZodType>(tool: Tool<Input>): AnyTool {
  return {
    name: tool.name,
    description: tool.description,
    ...(tool.remote === undefined ? {} : { remote: tool.remote }),
    ...(tool.deferred === undefined ? {} : { deferred: tool.deferred }),
    ...(tool.readOnly === undefined ? {} : { readOnly: tool.readOnly }),
    ...(tool.group === undefined ? {} : { group: tool.group }),
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
