import { Injectable } from '@nestjs/common';
import {
  type FactCategory,
  type MemoryConfigReply,
  type MemoryDocument,
  type MemoryFact,
  type MemoryHistoryReply,
  type MemoryStatusReply,
  NEVER_UPDATED,
} from '@caribou/contracts';
import type { MemoryScope, MemoryStore } from '@caribou/core';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

/** Reads a user's memories, and erases all of them. */
@Injectable()
export class MemoryService {
  constructor(
    @Dependency('memories') private readonly store: MemoryStore,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'memory'>,
  ) {}

  /** Reads a memory. One that was never written has the current time, because web clients show its age. */
  async get(scope: MemoryScope): Promise<MemoryDocument> {
    const { document } = await this.store.read(scope);
    return document.lastUpdated === NEVER_UPDATED ? { ...document, lastUpdated: new Date().toISOString() } : document;
  }

  async facts(
    scope: MemoryScope,
    { category, source }: { readonly category?: FactCategory | undefined; readonly source?: string | undefined },
  ): Promise<{ readonly facts: readonly MemoryFact[]; readonly count: number }> {
    const facts = (await this.get(scope)).facts.filter(
      (fact) =>
        (category === undefined || fact.category === category) && (source === undefined || fact.source === source),
    );
    return { facts, count: facts.length };
  }

  async history(scope: MemoryScope): Promise<MemoryHistoryReply> {
    const changes = await this.store.history(scope);
    return {
      changes: changes.map(({ revision, at, cause, added, removed, changed, sections }) => ({
        revision,
        at,
        cause: { kind: cause.kind, thread_id: cause.threadId ?? null },
        added: [...added],
        removed: [...removed],
        changed: [...changed],
        sections,
      })),
    };
  }

  config(): MemoryConfigReply {
    const { memory } = this.settings;
    return {
      enabled: memory.enabled,
      storage_path: '',
      debounce_seconds: memory.debounce_seconds,
      model_name: memory.model_name,
      max_facts: memory.max_facts,
      fact_confidence_threshold: memory.fact_confidence_threshold,
      injection_enabled: memory.injection_enabled,
      max_injection_tokens: memory.max_injection_tokens,
    };
  }

  /** Reads the memory before its status: reading quarantines a damaged memory, which the status then reports. */
  async status(scope: MemoryScope): Promise<MemoryStatusReply> {
    const { document, revision } = await this.store.read(scope);
    const [{ due, running, dead, quarantined }, agents] = await Promise.all([
      this.store.status(scope.userId),
      this.store.agents(scope.userId),
    ]);
    const givenUp = dead.map(({ threadId, agent, at, reason }) => ({ thread_id: threadId, agent, at, reason }));
    return {
      config: this.config(),
      data: document,
      revision,
      agents: [...agents],
      extraction: { due, running, given_up: givenUp },
      quarantined: quarantined.map(({ agent, at, reason, bytes }) => ({ agent, at, reason, bytes })),
    };
  }

  async erase(userId: string): Promise<void> {
    await this.store.eraseUser(userId);
  }
}
