import { AppError } from '@caribou/contracts';
import type { ToolContext, ToolOutcome } from '@caribou/core';

export interface WebToolCall {
  readonly tool: string;
  readonly timeoutMs: number;
  /** Why the configuration does not allow using the tool. */
  readonly problem?: string | undefined;
  readonly work: (signal: AbortSignal) => Promise<string>;
}

const toFailedOutcome = (text: string): ToolOutcome => ({ content: `Error: ${text}`, isError: true });

/**
 * Runs a web tool. Failures of the web are error results, so that the agent can continue without it.
 *
 * @throws the reason of the run's signal, and unexpected errors
 */
export async function runWebTool(
  { run }: ToolContext,
  { tool, timeoutMs, problem, work }: WebToolCall,
): Promise<ToolOutcome> {
  if (problem !== undefined) return toFailedOutcome(`${tool} cannot be used: ${problem}`);
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    return { content: await work(AbortSignal.any([run.signal, deadline])) };
  } catch (error) {
    run.signal.throwIfAborted();
    if (deadline.aborted) return toFailedOutcome(`${tool} got no answer within ${timeoutMs / 1000} seconds`);
    if (error instanceof AppError && error.expected) return toFailedOutcome(error.message);
    throw error;
  }
}
