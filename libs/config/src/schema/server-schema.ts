import { z } from 'zod';
import { integer, ms } from './kinds/setting-kinds.js';

export const NatsFile = z
  .object({
    replicas: integer(1, 1, 5).describe(
      'Copies of each stream in a cluster of NATS servers; 3 survives the loss of one',
    ),
  })
  .describe('The message bus; NATS_URL is its address');

const EmbeddingsFile = z
  .object({
    model: z.string().min(1).optional().describe("The endpoint's name of the model; unset: there is none"),
    base_url: z.url().default('https://api.openai.com/v1').describe('OpenAI-compatible endpoint; /embeddings is asked'),
    api_key: z.string().min(1).optional().describe('Such as $OPENAI_API_KEY'),
    dimensions: z.int().min(8).max(8_192).optional().describe('Asked for, where the model can have several'),
    timeout_ms: ms(10_000, 60_000).describe('Longest wait for a vector'),
  })
  .describe('Model by which searches in /store find items of similar meaning; without one they go by words');

export const StoreFile = z
  .object({
    embeddings: EmbeddingsFile.prefault({}),
    compact: z
      .boolean()
      .default(true)
      .describe(
        'Write what threads hold in forms that take less memory; false while services run that are older than these forms (docs/operations.md)',
      ),
  })
  .describe('What Redis holds; REDIS_URL is its address');
