import type { ExecutionEntry, ThreadKey } from '@caribou/core';
import type { ManagedSandbox } from './managed-sandbox.js';

/** One request to execute something in a sandbox, with its identity in the journal. */
export interface Execution<Reply> {
  readonly thread: ThreadKey;
  readonly sandboxId: string;
  readonly epoch: number;
  readonly key: string;
  readonly argsHash: string;
  readonly kind: ExecutionEntry['kind'];
  /** Virtual paths of the files that it may change; absent when any may. */
  readonly paths?: readonly string[];
  run(sandbox: ManagedSandbox, signal: AbortSignal): Promise<Reply>;
  /** The reply when the outcome of the execution is unknown. */
  unknown(reason: string): Reply;
  /** Parses a reply that was stored in the journal. */
  parse(stored: unknown): Reply;
}

/** Reason with which this manager aborts an execution. Only after a cancel is the command's result a valid reply. */
export class ExecutionEnded extends Error {
  constructor(readonly by: 'cancel' | 'shutdown' | 'loss' | 'administrator') {
    super(`execution ended by ${by}`);
    this.name = 'ExecutionEnded';
  }
}

/** The reason with which an execution was aborted; its signal must have aborted. */
export const endReasonOf = (signal: AbortSignal): ExecutionEnded['by'] =>
  signal.reason instanceof ExecutionEnded ? signal.reason.by : 'loss';
