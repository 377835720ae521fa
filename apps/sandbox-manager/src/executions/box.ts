import type { BoxSpec } from '@caribou/sandbox';
import type { ExecutionLane } from './execution-lane.js';
import type { BoxDriver } from './replacement-notice.js';

/** A sandbox that this manager holds. */
export interface Box {
  readonly spec: BoxSpec;
  readonly driver: BoxDriver;
  readonly lane: ExecutionLane;
  /** Set while the box is being made or is ready; absent when it has to be made first. */
  ready?: Promise<void>;
  /** False until this process has made it once: before that, what runs in it is a predecessor's. */
  made: boolean;
  /** Pieces of work that need the box right now. */
  users: number;
  /** True from when the box was replaced until a command's result has told so. */
  replaced: boolean;
  lastUsedMs: number;
}
