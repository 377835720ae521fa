import { emptyMemory, type MemoryDocument, type MemoryFact } from '@caribou/contracts';
import type { JobProgress, MemoryJob, MemoryJobs, MemoryStore, MemoryUpdate, ThreadKey } from '@caribou/core';
import { ai, human, type StoreFixture, useStore } from '@caribou/testing';
import { memoryMember } from '../redis/keys.js';
import { redisMemoryJobs } from '../memory/jobs/memory-jobs.js';
import { redisMemoryStore } from '../memory/memory-store.js';

export const agent = 'lead_agent';

export const progress = (watermark: number, more: Partial<JobProgress> = {}): JobProgress => ({
  watermark,
  seen: [],
  more: false,
  ...more,
});

export const withFact = (content: string): MemoryDocument => {
  const fact: MemoryFact = {
    id: 'f1',
    content,
    category: 'context',
    confidence: 1,
    createdAt: '2026-03-14T10:00:00Z',
    source: 't',
  };
  return { ...emptyMemory('2026-03-14T10:00:00Z'), facts: [fact] };
};

/** An update by an extraction that found one fact. */
export const learnt = (content: string, expectedRevision = 0): MemoryUpdate => ({
  document: withFact(content),
  before: emptyMemory(),
  expectedRevision,
  cause: { kind: 'extraction', threadId: 't' },
});

/** Jobs whose threads are ready at once, and the stores that they read. */
export class MemoryJobsFixture {
  readonly memories: MemoryStore;
  readonly jobs: MemoryJobs;

  constructor(readonly stores: StoreFixture) {
    this.memories = redisMemoryStore(stores.redis);
    this.jobs = redisMemoryJobs(stores.redis, { debounceMs: 0, leaseMs: 60_000 });
  }

  /** Finishes a run whose messages are queued for memory extraction. */
  async say(key: ThreadKey, text: string, as = agent): Promise<void> {
    await this.stores.admit(key);
    const claimed = await this.stores.claim(key);
    await this.stores.step(claimed, { messages: [human(text), ai(`you said: ${text}`)] });
    await this.stores.finish(claimed, { remember: { agent: as } });
  }

  /** @throws Error when the job is not ready */
  async take(key: ThreadKey, owner = 'w1', from = this.jobs): Promise<MemoryJob> {
    const job = await from.take({ ...key, agent }, owner);
    if (job === null) throw new Error('the job is not ready');
    return job;
  }

  async ready(from = this.jobs): Promise<string[]> {
    return (await from.ready(100)).jobs.map((job) => memoryMember(job, job.agent));
  }

  async factsOf(userId = 'alice'): Promise<readonly MemoryFact[]> {
    return (await this.memories.read({ userId, agent })).document.facts;
  }
}

/** Runs one Redis server for the tests of the file and opens new stores for each test. */
export function useMemoryJobs(onOpen: (fixture: MemoryJobsFixture) => void): void {
  useStore((stores) => onOpen(new MemoryJobsFixture(stores)), { leaseMs: 60_000 });
}
