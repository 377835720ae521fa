import { Injectable } from '@nestjs/common';
import type { RunCreate } from '@caribou/contracts';
import { AssistantCatalog, type NamedAssistant, parseAssistantId } from './assistant-catalog.js';

/** The request of a run with the settings of its assistant. */
export interface AssistedRun {
  readonly body: RunCreate;
  readonly assistant: NamedAssistant;
}

/** Applies stored assistants to the requests of runs. */
@Injectable()
export class RunAssistants {
  constructor(private readonly catalog: AssistantCatalog) {}

  /**
   * The request with the settings of the current version of a stored assistant below its own. They are stored with the run:
   * later changes of the assistant do not concern it. The run's metadata name assistant and version.
   *
   * @throws {NotFoundError} when no assistant can have the given id
   */
  async apply(userId: string, body: RunCreate): Promise<AssistedRun> {
    const stored = await this.catalog.findStored(userId, body.assistant_id);
    if (stored === null) return { body, assistant: parseAssistantId(body.assistant_id) };
    const { assistant_id: assistantId, version, context } = stored;
    const config = stored.config as NonNullable<RunCreate['config']>;
    return {
      assistant: { assistantId },
      body: {
        ...body,
        config: {
          ...config,
          ...body.config,
          recursion_limit: body.config?.recursion_limit ?? config.recursion_limit,
          configurable: { ...config.configurable, ...context, ...body.config?.configurable },
          metadata: { ...config.metadata, ...body.config?.metadata },
        },
        metadata: { ...body.metadata, assistant_id: assistantId, assistant_version: version },
      },
    };
  }
}
