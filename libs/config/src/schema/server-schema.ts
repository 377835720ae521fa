import { z } from 'zod';
import { integer } from './setting-kinds.js';

export const NatsFile = z
  .object({
    replicas: integer(1, 1, 5).describe(
      'Copies of each stream in a cluster of NATS servers; 3 survives the loss of one',
    ),
  })
  .describe('The message bus; NATS_URL is its address');

export const StoreFile = z
  .object({
    compact: z
      .boolean()
      .default(true)
      .describe(
        'Write what threads hold in forms that take less memory; false while services run that are older than these forms (docs/operations.md)',
      ),
  })
  .describe('What Redis holds; REDIS_URL is its address');
