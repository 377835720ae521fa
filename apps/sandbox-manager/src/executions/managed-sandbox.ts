import type { SandboxSpec } from '@caribou/sandbox';
import type { ExecutionLane } from './execution-lane.js';
import type { ManagedDriver } from './replacement-notice.js';

/** A sandbox that this manager holds. */
export interface ManagedSandbox {
  readonly spec: SandboxSpec;
  readonly driver: ManagedDriver;
  readonly lane: ExecutionLane;
  /** Set while the sandbox is being made or is ready; absent when it has to be made first. */
  ready?: Promise<void>;
  /** False until this process has made it once: before that, what runs in it is a predecessor's. */
  made: boolean;
  /** Pieces of work that need the sandbox right now. */
  users: number;
  /** True from when the sandbox was replaced until a command's result has told so. */
  replaced: boolean;
  lastUsedMs: number;
}
