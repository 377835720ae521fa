import type { SandboxBinding } from '@caribou/contracts';
import type {
  AgentMiddleware,
  RunContext,
  SandboxPort,
  SandboxScope,
  ToolCallRequest,
  ToolOutcome,
} from '@caribou/core';

/**
 * Keeps the sandbox a tool acquired on first use in the thread's state, and gives it back when the run ends.
 * The binding rides on the tool's outcome because only outcomes are committed. Releasing destroys nothing.
 */
export function sandbox(port: SandboxPort): AgentMiddleware {
  return {
    name: 'sandbox',
    async wrapToolCall(request, next, run) {
      return withBinding(await next(request), request, port.binding(scopeOf(run)));
    },
    async afterAgent(state, run) {
      const scope = scopeOf(run);
      // After a takeover the sandbox may have been acquired by the runner before.
      const usedBefore = run.attempt > 1 && state.sandbox !== undefined;
      if (usedBefore || port.binding(scope) !== undefined) await port.release(scope);
      return undefined;
    },
  };
}

/** The outcome with the sandbox that the run uses, when the thread does not have it yet. */
export function withBinding(
  outcome: ToolOutcome,
  { state }: ToolCallRequest,
  binding: SandboxBinding | undefined,
): ToolOutcome {
  if (binding === undefined || isSame(binding, state.sandbox)) return outcome;
  return { ...outcome, update: { ...outcome.update, sandbox: binding } };
}

const scopeOf = (run: RunContext): SandboxScope => ({ userId: run.userId, threadId: run.threadId, epoch: run.epoch });

const isSame = (binding: SandboxBinding, known: SandboxBinding | undefined): boolean =>
  known?.sandbox_id === binding.sandbox_id && known.driver === binding.driver;
