import type { SandboxSpec } from '@caribou/sandbox';
import type { ExecutionLane } from './execution-lane.js';
import type { ManagedDriver } from './replacement-notice.js';

/** A sandbox that this manager holds. */
export interface ManagedSandbox {
  readonly spec: SandboxSpec;
  readonly driver: ManagedDriver;
  readonly lane: ExecutionLane;
  /** The attempt to create the sandbox, under way or successful; absent when the sandbox has to be created first. */
  readiness?: Promise<void>;
  /** False until this process has created the sandbox once. Until then, its processes belong to an earlier manager. */
  created: boolean;
  /** Number of callers that are using the sandbox now. */
  users: number;
  /** True from when the sandbox was replaced until the result of a command has reported it. */
  replaced: boolean;
  lastUsedMs: number;
  /** When it was created last, by the wall clock; absent before that. */
  sinceMs?: number;
  /** While an administrator ends it: commands that have not begun wait for this, and then get a fresh sandbox. */
  ending?: Promise<void>;
}
