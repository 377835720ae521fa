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
 * Stores the sandbox that a tool acquired on first use in the thread's state, and releases it when the run ends. The
 * binding is added to the tool's outcome because only outcomes are committed. Releasing deletes nothing.
 */
export function sandbox(port: SandboxPort): AgentMiddleware {
  return {
    name: 'sandbox',
    async wrapToolCall(request, next, run) {
      return addBinding(await next(request), request, port.binding(scopeOf(run)));
    },
    async afterAgent(state, run) {
      const scope = scopeOf(run);
      // After a takeover the sandbox may have been acquired by the previous runner.
      const usedBefore = run.attempt > 1 && state.sandbox !== undefined;
      if (usedBefore || port.binding(scope) !== undefined) await port.release(scope);
      return undefined;
    },
  };
}

/** Adds the run's sandbox to the outcome, unless the thread has it already. */
export function addBinding(
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
