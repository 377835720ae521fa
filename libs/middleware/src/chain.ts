import type { AgentMiddleware, ConversionStore, SandboxPort } from '@caribou/core';
import { clarification } from './clarification.js';
import { danglingToolCall } from './dangling-tool-call.js';
import { llmError, type LlmErrorOptions } from './llm-error.js';
import type { CommandPolicy } from './command-audit.js';
import { sandbox } from './sandbox.js';
import { sandboxAudit } from './sandbox-audit.js';
import { threadData } from './thread-data.js';
import { title, type TitleOptions } from './title.js';
import { toolError } from './tool-error.js';
import { uploads } from './uploads.js';
import { viewImage } from './view-image.js';

export interface ChainPorts {
  readonly sandbox: SandboxPort;
  /** What is known of the Markdown of uploaded documents; without it none is named to the agent. */
  readonly conversions?: Pick<ConversionStore, 'read'>;
}

export interface ChainOptions {
  readonly llmError?: LlmErrorOptions;
  /** Rules for shell commands; the ones that ship when absent. */
  readonly commands?: CommandPolicy;
  readonly title?: TitleOptions;
  /** The model reads images. */
  readonly vision?: boolean;
}

/** The lead agent's middlewares. First is outermost for wraps and first for `before*`, last is first for `after*`. */
export function leadChain(ports: ChainPorts, options: ChainOptions = {}): readonly AgentMiddleware[] {
  return [
    threadData(), // before all: later hooks and prompts speak of the thread's directories
    uploads(ports), // before what reads the last message: it is complete from here on
    sandbox(ports.sandbox), // outside tool-error: the binding is kept even when the tool that acquired it failed
    danglingToolCall(), // outside llm-error: every attempt sends the repaired history
    llmError(options.llmError), // outside what shapes a single attempt
    sandboxAudit(ports.sandbox, options.commands), // outside tool-error: a blocked command reaches no tool, and a note is put on an answer
    toolError(), // innermost of the general tool layers: those outside see an answer, never an exception
    title(options.title), // afterModel runs in reverse: it names the answer as all later hooks left it
    ...(options.vision === true ? [viewImage(ports.sandbox)] : []), // inside llm-error: read anew for each attempt, and never part of the thread
    clarification(), // always last: every layer sees the call, and none runs the tool
  ];
}
