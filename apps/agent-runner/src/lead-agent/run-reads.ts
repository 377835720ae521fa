import { BugError } from '@caribou/contracts';
import type { ConversionStore, RunContext, Skill } from '@caribou/core';
import type { EarlyRun } from '@caribou/runs';
import type { ToolOffer } from '@caribou/worker';
import type { AgentOfRun } from './agent-of-run.js';
import type { MemoryForPrompt } from './memory-for-prompt.js';

/** What a run reads before its first model call, under way at the same time. */
export interface RunReads {
  readonly agent: Promise<AgentOfRun>;
  readonly skills: Promise<readonly Skill[]>;
  readonly offer: ReturnType<ToolOffer>;
  /** The text of the memory, which is read when it is needed, unless that has begun already. */
  readonly memory: (run: RunContext) => ReturnType<MemoryForPrompt['textFor']>;
  /** Looks for uploads; the first look uses what was read early. */
  readonly uploadsSince: ConversionStore['uploadsSince'];
}

export interface RunReaders {
  readonly agentOf: (early: EarlyRun) => Promise<AgentOfRun>;
  readonly skillsOf: (userId: string) => Promise<readonly Skill[]>;
  readonly offerTools: ToolOffer;
  readonly memory: MemoryForPrompt;
  readonly conversions: Pick<ConversionStore, 'newestUpload' | 'uploadsSince'>;
}

/**
 * Reads for runs, each once. They are begun when the run is offered or was claimed, so they see what was changed before it was admitted.
 * All are sent in one turn of the event loop, with the claim or the commit of the input, and so in one write to Redis.
 */
export class ReadsOfRuns {
  private readonly begun = new WeakMap<EarlyRun, RunReads>();
  /** By the signal of the run, which all its contexts share. */
  private readonly ofRuns = new WeakMap<AbortSignal, RunReads>();

  constructor(private readonly readers: RunReaders) {}

  begin(early: EarlyRun): RunReads {
    const known = this.begun.get(early);
    if (known !== undefined) return known;
    const reads = this.start(early);
    this.begun.set(early, reads);
    return reads;
  }

  /** The same, for a run that executes; `of` returns its reads from now on. */
  beginFor({ signal }: Pick<RunContext, 'signal'>, early: EarlyRun): RunReads {
    const reads = this.begin(early);
    this.ofRuns.set(signal, reads);
    return reads;
  }

  /** @throws {BugError} for a run that `beginFor` was not called for */
  of({ signal }: Pick<RunContext, 'signal'>): RunReads {
    const reads = this.ofRuns.get(signal);
    if (reads === undefined) throw new BugError('nothing was read for this run');
    return reads;
  }

  private start(early: EarlyRun): RunReads {
    const { agentOf, skillsOf, offerTools, memory, conversions } = this.readers;
    const [agent, skills, offer] = [agentOf(early), skillsOf(early.userId), offerTools()];
    // A run that was taken over has its context in the thread, unless it was lost right after its input.
    const document = early.isResumed ? undefined : memory.read(early);
    let newest = early.isResumed ? undefined : conversions.newestUpload(early);
    // A run that ends before it needs them has nobody to handle a failure.
    for (const read of [agent, skills, document, newest]) read?.catch(() => undefined);
    let text: ReturnType<MemoryForPrompt['textFor']> | undefined;
    return {
      agent,
      skills,
      offer,
      memory: (run) => (text ??= memory.textFor(run, document)),
      uploadsSince: (thread, number) => {
        const known = newest;
        newest = undefined;
        return conversions.uploadsSince(thread, number, known);
      },
    };
  }
}
