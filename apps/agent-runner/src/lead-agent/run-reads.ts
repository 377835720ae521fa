import type { RunContext, Skill } from '@caribou/core';
import type { AgentInput } from '@caribou/runs';
import type { ToolOffer } from '@caribou/worker';
import type { AgentOfRun } from './agent-of-run.js';
import type { MemoryForPrompt } from './memory-for-prompt.js';

/** What a run reads before its first model call, under way at the same time. */
export interface RunReads {
  readonly agent: Promise<AgentOfRun>;
  readonly skills: Promise<readonly Skill[]>;
  readonly offer: ReturnType<ToolOffer>;
  /** Reads it when it is needed, unless that has begun already. */
  readonly memory: () => ReturnType<MemoryForPrompt>;
}

export interface RunReaders {
  readonly agentOf: (run: RunContext) => Promise<AgentOfRun>;
  readonly skillsOf: (userId: string) => Promise<readonly Skill[]>;
  readonly offerTools: ToolOffer;
  readonly memoryOf: MemoryForPrompt;
}

export type EarlyInput = Pick<AgentInput, 'run' | 'claimed'>;

/**
 * Reads for runs, each once. They are begun when the run was claimed, so they see what was changed before it was admitted. All
 * are sent in one turn of the event loop, with the commit of the input, and so in one write to Redis.
 */
export class ReadsOfRuns {
  private readonly begun = new WeakMap<EarlyInput['claimed'], RunReads>();

  constructor(private readonly readers: RunReaders) {}

  begin(input: EarlyInput): RunReads {
    const known = this.begun.get(input.claimed);
    if (known !== undefined) return known;
    const reads = this.start(input);
    this.begun.set(input.claimed, reads);
    return reads;
  }

  private start({ run, claimed }: EarlyInput): RunReads {
    const { agentOf, skillsOf, offerTools, memoryOf } = this.readers;
    const [agent, skills, offer] = [agentOf(run), skillsOf(run.userId), offerTools(run)];
    // A run that was taken over has its context in the thread, unless it was lost right after its input.
    let memory = claimed.run.input_committed ? undefined : memoryOf(run);
    // A run that ends before it needs them has nobody to handle a failure.
    for (const read of [agent, skills, memory]) read?.catch(() => undefined);
    return {
      agent,
      skills,
      offer,
      memory: () => {
        memory ??= memoryOf(run);
        return memory;
      },
    };
  }
}
