import { Injectable } from '@nestjs/common';
import {
  ConflictError,
  emptyMemory,
  type FactChanges,
  type MemoryCause,
  type MemoryDocument,
  type MemoryImport,
  type NewFact,
} from '@caribou/contracts';
import { type MemoryScope, type MemoryStore, systemClock } from '@caribou/core';
import { addFact, editFact, importMemory, removeFact } from '@caribou/memory';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

/** Every round of those who write at the same time lets one of them through. */
const MAX_ATTEMPTS = 50;
const MAX_PAUSE_MS = 20;
/** A name in a query is enough for a memory: without a bound one user could make any number of them. */
const MAX_AGENTS = 100;

type Edit = (document: MemoryDocument, at: string) => MemoryDocument;

/**
 * Changes to a memory by its owner. Each is made from the memory as it stands and written only if it still stands so,
 * else made again from the new one: no change of another page, gateway or extraction is lost.
 */
@Injectable()
export class MemoryEdits {
  constructor(
    @Dependency('memories') private readonly store: Pick<MemoryStore, 'read' | 'write' | 'agents'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'memory'>,
  ) {}

  /** @throws {ConflictError} when its words are there already, or the memory is full */
  addFact(scope: MemoryScope, fact: NewFact): Promise<MemoryDocument> {
    const { max_facts: maxFacts } = this.settings.memory;
    return this.change(scope, 'fact_added', (document, at) => addFact(document, fact, { at, maxFacts }));
  }

  /** @throws {NotFoundError} when there is none of this id */
  editFact(scope: MemoryScope, id: string, changes: FactChanges): Promise<MemoryDocument> {
    return this.change(scope, 'fact_edited', (document, at) => editFact(document, id, changes, { at }));
  }

  /** @throws {NotFoundError} when there is none of this id */
  removeFact(scope: MemoryScope, id: string): Promise<MemoryDocument> {
    return this.change(scope, 'fact_deleted', (document, at) => removeFact(document, id, { at }));
  }

  clear(scope: MemoryScope): Promise<MemoryDocument> {
    return this.change(scope, 'cleared', (_, at) => emptyMemory(at));
  }

  /** @throws {TooLargeError} above the size of a memory */
  replace(scope: MemoryScope, given: MemoryImport): Promise<MemoryDocument> {
    const { max_facts: maxFacts } = this.settings.memory;
    return this.change(scope, 'imported', (_, at) => importMemory(given, { at, maxFacts }));
  }

  private async change(scope: MemoryScope, kind: MemoryCause['kind'], edit: Edit): Promise<MemoryDocument> {
    for (let attempt = 1; ; attempt += 1) {
      const { document: before, revision } = await this.store.read(scope);
      if (revision === 0) await this.refuseOneMore(scope);
      const document = edit(before, new Date(systemClock.now()).toISOString());
      try {
        return (await this.store.write(scope, { document, expectedRevision: revision, cause: { kind } })).document;
      } catch (error) {
        if (!(error instanceof ConflictError) || attempt === MAX_ATTEMPTS) throw error;
      }
      await systemClock.sleep(Math.random() * MAX_PAUSE_MS);
    }
  }

  /** @throws {ConflictError} when there is no memory of this agent yet, and as many others as there may be */
  private async refuseOneMore({ userId, agent }: MemoryScope): Promise<void> {
    const agents = await this.store.agents(userId);
    if (agents.length >= MAX_AGENTS && !agents.includes(agent))
      throw new ConflictError(`agent: ${MAX_AGENTS} agents have a memory of yours, the limit`);
  }
}
