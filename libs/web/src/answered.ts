import { AppError } from '@caribou/contracts';
import type { ToolContext, ToolOutcome } from '@caribou/core';

export interface WebWork {
  readonly tool: string;
  readonly timeoutMs: number;
  /** Why the tool cannot be used as it is configured. */
  readonly problem?: string | undefined;
  readonly work: (signal: AbortSignal) => Promise<string>;
}

const failed = (text: string): ToolOutcome => ({ content: `Error: ${text}`, isError: true });

/**
 * What a web tool answers. Failures of the web are answers, so that the agent goes on without it.
 *
 * @throws the reason of the run's signal, and what is no failure of the web
 */
export async function answered(
  { run }: ToolContext,
  { tool, timeoutMs, problem, work }: WebWork,
): Promise<ToolOutcome> {
  if (problem !== undefined) return failed(`${tool} cannot be used: ${problem}`);
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    return { content: await work(AbortSignal.any([run.signal, deadline])) };
  } catch (error) {
    run.signal.throwIfAborted();
    if (deadline.aborted) return failed(`${tool} got no answer within ${timeoutMs / 1000} seconds`);
    if (error instanceof AppError && error.expected) return failed(error.message);
    throw error;
  }
}
