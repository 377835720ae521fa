import { ExtensionError, FencedError } from '@caribou/contracts';
import { type AgentMiddleware, RunCancelled, RunDraining, RunLost, type ToolOutcome } from '@caribou/core';

const MAX_DETAIL_CHARS = 500;

/**
 * Turns an exception of a tool into an answer the model can work with; the run goes on. What ends the run itself
 * (cancel, loss, hand-over, a custom middleware that failed) passes.
 */
export function toolError(): AgentMiddleware {
  return {
    name: 'tool-error',
    async wrapToolCall(request, next, run) {
      try {
        return await next(request);
      } catch (error) {
        if (run.signal.aborted || endsRun(error)) throw error;
        run.logger.warn({ tool: request.call.name, error }, 'tool failed');
        return failedOutcome(request.call.name, error);
      }
    },
  };
}

/** The answer that tells the model of a tool's exception; the detail is cut at 500 characters. */
export function failedOutcome(toolName: string, error: unknown): ToolOutcome {
  const { type, detail } = describeError(error);
  return {
    content:
      `Error: Tool '${toolName}' failed with ${type}: ${detail}. ` +
      'Continue with the available context, or choose another tool.',
    isError: true,
  };
}

const endsRun = (error: unknown): boolean =>
  error instanceof RunCancelled ||
  error instanceof RunLost ||
  error instanceof RunDraining ||
  error instanceof FencedError ||
  error instanceof ExtensionError;

function describeError(error: unknown): { readonly type: string; readonly detail: string } {
  if (!(error instanceof Error)) return { type: 'Error', detail: 'unknown failure' };
  const detail = error.message === '' ? error.name : error.message;
  return {
    type: error.name,
    detail: detail.length <= MAX_DETAIL_CHARS ? detail : `${detail.slice(0, MAX_DETAIL_CHARS - 3)}...`,
  };
}
