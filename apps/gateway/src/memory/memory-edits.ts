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

/** Attempts of a change; each failed attempt means that one concurrent change was stored. */
const MAX_ATTEMPTS = 50;
const MAX_PAUSE_MS = 20;
/** Maximum number of memories of one user: a name in a query is enough to create one. */
const MAX_AGENTS = 100;

type Edit = (document: MemoryDocument, at: string) => MemoryDocument;

/**
 * Changes to a memory by its owner. Each change is based on the current memory and written only if the memory is still the
 * same; otherwise it is repeated on the new one, so that no change by another client, gateway or extraction is lost.
 */
@Injectable()
export class MemoryEdits {
  constructor(
    @Dependency('memories') private readonly store: Pick<MemoryStore, 'read' | 'write' | 'agents'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'memory'>,
  ) {}

  /** @throws {ConflictError} when there is a fact with the same text, or the memory is full */
  addFact(scope: MemoryScope, fact: NewFact): Promise<MemoryDocument> {
    const { max_facts: maxFacts } = this.settings.memory;
    return this.change(scope, 'fact_added', (document, at) => addFact(document, fact, { at, maxFacts }));
  }

  /** @throws {NotFoundError} when there is no fact with this id */
  editFact(scope: MemoryScope, id: string, changes: FactChanges): Promise<MemoryDocument> {
    return this.change(scope, 'fact_edited', (document, at) => editFact(document, id, changes, { at }));
  }

  /** @throws {NotFoundError} when there is no fact with this id */
  removeFact(scope: MemoryScope, id: string): Promise<MemoryDocument> {
    return this.change(scope, 'fact_deleted', (document, at) => removeFact(document, id, { at }));
  }

  clear(scope: MemoryScope): Promise<MemoryDocument> {
    return this.change(scope, 'cleared', (_, at) => emptyMemory(at));
  }

  /** @throws {TooLargeError} when the memory would exceed the maximum size */
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

  /** @throws {ConflictError} when this agent has no memory yet, and the user has the maximum number of them */
  private async refuseOneMore({ userId, agent }: MemoryScope): Promise<void> {
    const agents = await this.store.agents(userId);
    if (agents.length >= MAX_AGENTS && !agents.includes(agent))
      throw new ConflictError(`agent: ${MAX_AGENTS} agents have a memory of yours, the limit`);
  }
}
