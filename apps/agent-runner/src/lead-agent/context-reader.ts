import { contextFacts } from '@caribou/agent';
import type { RunContext, Skill } from '@caribou/core';
import type { ContextFacts } from '@caribou/middleware';
import type { toolFacts } from '@caribou/worker';
import type { ReadsOfRuns } from './run-reads.js';

interface AgentContext extends ReturnType<typeof toolFacts> {
  /** Those that are enabled. */
  readonly skills: readonly Skill[];
}

/** Returns a function that reads what a run shows the model besides the conversation, when it starts. */
export const readContext =
  (reads: Pick<ReadsOfRuns, 'of'>, facts: AgentContext) =>
  async (run: RunContext): Promise<ContextFacts> => {
    const { agent, memory } = reads.of(run);
    const { profile } = await agent;
    return contextFacts({ ...facts, profile, nowMs: run.clock.now(), memory: await memory(run) });
  };
