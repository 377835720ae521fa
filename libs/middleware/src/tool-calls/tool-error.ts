import { ExtensionError, FencedError } from '@caribou/contracts';
import { type AgentMiddleware, Interrupted, RunCancelled, RunDraining, RunLost, type ToolOutcome } from '@caribou/core';

const MAX_DETAIL_CHARS = 500;

/**
 * Converts an exception of a tool into an error result for the model; the run continues. Errors that end the run
 * (cancel, loss, hand-over, a failed custom middleware) are rethrown.
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
        return toFailedOutcome(request.call.name, error);
      }
    },
  };
}

/** The error result for a tool's exception; the detail is cut at 500 characters. */
export function toFailedOutcome(toolName: string, error: unknown): ToolOutcome {
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
  error instanceof Interrupted ||
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
