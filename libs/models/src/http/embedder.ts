import { createHash } from 'node:crypto';
import type { EmbeddingsConfig } from '@caribou/config';
import { ModelError, omitUndefined } from '@caribou/contracts';
import type { Embedder } from '@caribou/core';
import OpenAI, { APIError } from 'openai';
import { z } from 'zod';

/** Longest text in UTF-16 units; the rest is not embedded. */
const MAX_CHARS = 16_000;
const MAX_DIMENSIONS = 8_192;

const Answer = z.object({
  data: z.array(z.object({ embedding: z.array(z.number()).min(1).max(MAX_DIMENSIONS) })).length(1),
  usage: z.object({ prompt_tokens: z.number() }).optional(),
});

/** Vectors of an OpenAI-compatible endpoint's `/embeddings`. */
export function createEmbedder({ model, baseUrl, apiKey, dimensions, timeoutMs }: EmbeddingsConfig): Embedder {
  const client = new OpenAI({
    apiKey: apiKey?.reveal() ?? 'none',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: baseUrl,
    maxRetries: 1,
    timeout: timeoutMs,
    logLevel: 'off',
  });
  return {
    id: createHash('sha256')
      .update(JSON.stringify([baseUrl, model, dimensions ?? null]))
      .digest('hex')
      .slice(0, 12),
    model,
    embed: async (text) => {
      const request = {
        model,
        input: text.slice(0, MAX_CHARS),
        encoding_format: 'float' as const,
        ...omitUndefined({ dimensions }),
      };
      const answer = Answer.safeParse(
        await client.embeddings.create(request).catch((error: unknown) => {
          throw toModelError(error, model);
        }),
      );
      if (!answer.success)
        throw new ModelError('the answer of the embedding endpoint is not valid', {
          details: { reason: 'malformed', model },
        });
      const [first] = answer.data.data;
      return { vector: Float32Array.from(first?.embedding ?? []), tokens: answer.data.usage?.prompt_tokens ?? 0 };
    },
  };
}

/** The endpoint's own text is not repeated: it may hold parts of the request. */
function toModelError(error: unknown, model: string): unknown {
  if (!(error instanceof APIError)) return error;
  const { status } = error as { readonly status?: number };
  const details = {
    reason: status === undefined ? 'connection' : 'server',
    model,
    ...omitUndefined({ providerStatus: status }),
  };
  const what = status === undefined ? 'could not be reached in time' : `answered with status ${status}`;
  return new ModelError(`the embedding endpoint ${what}`, { details, cause: error });
}
