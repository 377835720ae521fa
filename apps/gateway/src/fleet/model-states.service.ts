import { type ModelState, newId, NotFoundError } from '@caribou/contracts';
import type { ModelCatalog, ModelPort } from '@caribou/core';
import type { ModelCircuits } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

/** Who did something, and from which address. */
export interface Actor {
  readonly by: string;
  readonly from: string;
}

/** The circuit breakers and call slots of the configured models. */
@Injectable()
export class ModelStatesService {
  constructor(
    @Dependency('models') private readonly models: ModelCatalog,
    @Dependency('modelCircuits') private readonly circuits: ModelCircuits,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'maxConcurrentCalls'>,
  ) {}

  list(): Promise<readonly ModelState[]> {
    return Promise.all(this.models.names.map((name) => this.stateOf(this.models.get(name))));
  }

  /** @throws {NotFoundError} for an unknown model */
  async resetCircuit(name: string, { by, from }: Actor): Promise<ModelState> {
    if (!this.models.names.includes(name)) throw new NotFoundError(`there is no model "${name}"`);
    const model = this.models.get(name);
    await this.circuits.reset(model.endpoint, {
      id: newId(),
      user_id: by,
      operation: 'model.circuit.reset',
      what: `${name}: ${model.endpoint.model} at ${model.endpoint.provider}`.slice(0, MAX_WHAT_CHARS),
      verdict: 'ok',
      decided_by: by,
      decided_from: from,
    });
    return this.stateOf(model);
  }

  private async stateOf({ name, endpoint, dialect, fallbacks = [] }: ModelPort): Promise<ModelState> {
    const { maxConcurrentCalls } = this.settings;
    const { state, failures, retryAtMs, calls, waiting } = await this.circuits.read(endpoint);
    return {
      name,
      provider: endpoint.provider,
      model: endpoint.model,
      dialect,
      circuit: { state, failures, retry_at: retryAtMs === undefined ? null : new Date(retryAtMs).toISOString() },
      slots: { used: calls, limit: maxConcurrentCalls === 0 ? null : maxConcurrentCalls, waiting },
      fallbacks: fallbacks.map((fallback) => fallback.name),
    };
  }
}

const MAX_WHAT_CHARS = 2_048;
