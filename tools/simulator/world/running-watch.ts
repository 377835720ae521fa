import type { ThreadKey } from '@caribou/core';

/** Tracks how many threads of each user have a run under way, from the replies of the store alone. */
export class RunningWatch {
  private readonly running = new Map<string, string>();
  readonly violations: string[] = [];

  /** @param limit maximum number per user; 0: none */
  constructor(private readonly limit: number) {}

  /** The run was claimed for the first time. */
  recordStarted(runId: string, { userId, threadId }: ThreadKey): void {
    this.running.set(runId, userId);
    const ofUser = [...this.running.values()].filter((user) => user === userId).length;
    if (this.limit > 0 && ofUser > this.limit)
      this.violations.push(`thread ${threadId}: ${ofUser} runs of a user are under way, where ${this.limit} may`);
  }

  recordEnded(runId: string): void {
    this.running.delete(runId);
  }
}
