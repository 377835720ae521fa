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
  /** The thread whose sandbox the work on a task's thread is done in. */
  readonly lenderOf: (task: ThreadKey) => ThreadKey;
  /** Epoch of a thread's live lease; 0 while nobody holds it. */
  readonly currentEpoch: (thread: ThreadKey) => Promise<number>;
  readonly clock: Clock;
}

/** How often a call under way looks whether its lender has a new owner. */
const LOOK_MS = 1_000;
const RETRY_MS = 250;

/**
 * The sandbox of the thread that handed a task over, as the task's tools use it: same files, same processes.
 *
 * B1 Each call is made with the epoch that the lender has then. When the lender gets another owner meanwhile, the call
 *    is made again with the new epoch; its key makes that the same call, and a cancel finds an epoch that counts.
 * B2 While nobody owns the lender, calls wait: their bound is the time limit of the task.
 * B3 The sandbox stays the lender's: a task that ends gives nothing back. It only waits until its commands have been told
 *    to end, since a manager listens to that no longer than the lender's run lasts, which may end once the task has.
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

/** Aborts once the thread has another owner. A store that does not answer says nothing about that. */
function watchOwner(
  { currentEpoch, clock }: BorrowedSandboxParts,
  lender: ThreadKey,
  epoch: number,
): { readonly signal: AbortSignal; readonly stop: () => void } {
  const moved = new AbortController();
  const stopped = new AbortController();
  const look = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(LOOK_MS, stopped.signal);
      const now = await currentEpoch(lender).catch(() => epoch);
      if (now > 0 && now !== epoch) moved.abort(new RunLost('the thread of the sandbox has another owner'));
    }
  };
  look().catch(() => undefined);
  return { signal: moved.signal, stop: () => stopped.abort(new RunLost('the call is over')) };
}
