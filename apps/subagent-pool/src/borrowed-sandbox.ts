import { FencedError } from '@caribou/contracts';
import {
  type Clock,
  mapOperations,
  RunLost,
  type SandboxCalls,
  type SandboxPort,
  type SandboxScope,
  type ThreadKey,
} from '@caribou/core';

export interface BorrowedSandboxParts {
  readonly sandbox: SandboxPort;
  /** The thread whose sandbox a task uses, which is the thread that delegated the task. */
  readonly lenderOf: (task: ThreadKey) => ThreadKey;
  /** The epoch of a thread's current lease; 0 while the thread has no owner. */
  readonly currentEpoch: (thread: ThreadKey) => Promise<number>;
  readonly clock: Clock;
}

/** Interval at which a running call checks whether the lending thread has a new owner. */
const POLL_MS = 1_000;
const RETRY_MS = 250;

/**
 * The sandbox of the thread that delegated a task (the lender), as the task's tools use it: with the same files and
 * processes.
 *
 * B1 Each call has the lender's current epoch. When the lender gets another owner during a call, the call is repeated
 *    with the new epoch. Because of its key it is still executed once, and a cancel has a valid epoch.
 * B2 While the lender has no owner, calls wait, at most until the time limit of the task.
 * B3 The end of a task does not release the lender's sandbox. It only waits until the task's commands have been
 *    cancelled, because a manager accepts cancels only during the lender's run, which may end right after the task.
 */
export function createBorrowedSandbox(parts: BorrowedSandboxParts): SandboxPort {
  const { sandbox } = parts;
  const underWay = new Set<LentCall & { readonly over: Promise<unknown> }>();
  const lend =
    <Request, Result>(call: (scope: SandboxScope, request: Request, signal: AbortSignal) => Promise<Result>) =>
    async (scope: SandboxScope, request: Request, signal: AbortSignal): Promise<Result> => {
      const over = callAsLender(parts, { scope, signal }, (lender, inner) => call(lender, request, inner));
      const lentCall = { scope, signal, over };
      underWay.add(lentCall);
      try {
        return await over;
      } finally {
        underWay.delete(lentCall);
      }
    };
  const operations: SandboxCalls = sandbox;
  return {
    ...mapOperations((name) => lend((...call) => operations[name](...call))),
    blocked: lend((...call) => sandbox.blocked(...call)),
    cancel: lend((...call) => sandbox.cancel(...call)),
    binding: () => undefined,
    release: async ({ userId, threadId }) => {
      const ending = [...underWay].filter(
        ({ scope, signal }) => signal.aborted && scope.userId === userId && scope.threadId === threadId,
      );
      await Promise.allSettled(ending.map(({ over }) => over));
    },
  };
}

interface LentCall {
  readonly scope: SandboxScope;
  readonly signal: AbortSignal;
}

async function callAsLender<Result>(
  parts: BorrowedSandboxParts,
  { scope, signal }: LentCall,
  call: (scope: SandboxScope, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const lender = parts.lenderOf(scope);
  for (;;) {
    signal.throwIfAborted();
    const epoch = await parts.currentEpoch(lender);
    if (epoch > 0) {
      const moved = watchOwner(parts, lender, epoch);
      try {
        return await call({ ...lender, epoch }, AbortSignal.any([signal, moved.signal]));
      } catch (error) {
        signal.throwIfAborted();
        if (!moved.signal.aborted && !(error instanceof FencedError)) throw error;
      } finally {
        moved.stop();
      }
    }
    await parts.clock.sleep(RETRY_MS, signal);
  }
}

/** Aborts when the thread has another owner. An unreachable store is ignored. */
function watchOwner(
  { currentEpoch, clock }: BorrowedSandboxParts,
  lender: ThreadKey,
  epoch: number,
): { readonly signal: AbortSignal; readonly stop: () => void } {
  const moved = new AbortController();
  const stopped = new AbortController();
  const poll = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(POLL_MS, stopped.signal);
      const now = await currentEpoch(lender).catch(() => epoch);
      if (now > 0 && now !== epoch) moved.abort(new RunLost('the thread of the sandbox has another owner'));
    }
  };
  poll().catch(() => undefined);
  return { signal: moved.signal, stop: () => stopped.abort(new RunLost('the call is over')) };
}
