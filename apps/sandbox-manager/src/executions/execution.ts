import type { ExecutionEntry, ThreadKey } from '@caribou/core';
import type { ManagedSandbox } from './managed-sandbox.js';

/** One kind of execution and its replies. */
export interface Execution<Reply> {
  readonly thread: ThreadKey;
  readonly sandboxId: string;
  readonly epoch: number;
  readonly key: string;
  readonly argsHash: string;
  readonly kind: ExecutionEntry['kind'];
  run(sandbox: ManagedSandbox, signal: AbortSignal): Promise<Reply>;
  /** The reply when nobody can tell what came of it. */
  unknown(reason: string): Reply;
  /** A reply as the journal kept it. */
  parse(kept: unknown): Reply;
}

/** Why an execution is ended from here: only a cancel is an answer in its own right. */
export class ExecutionEnded extends Error {
  constructor(readonly by: 'cancel' | 'shutdown' | 'loss') {
    super(`execution ended by ${by}`);
    this.name = 'ExecutionEnded';
  }
}

/** Who ended an execution whose signal has aborted. */
export const endedBy = (signal: AbortSignal): ExecutionEnded['by'] =>
  signal.reason instanceof ExecutionEnded ? signal.reason.by : 'loss';
