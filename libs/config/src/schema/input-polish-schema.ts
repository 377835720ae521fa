import { z } from 'zod';
import { integer, ms } from './kinds/setting-kinds.js';

export const InputPolishFile = z
  .object({
    enabled: z.boolean().default(true).describe('Rewrite drafts of messages when a client asks for it'),
    max_chars: integer(4_000, 1, 100_000).describe('Longest draft'),
    model_name: z.string().min(1).nullable().default(null).describe('Model that rewrites; null: the default one'),
    timeout_ms: ms(30_000, 120_000).describe('Longest wait for the model'),
  })
  .describe('Rewriting of drafts');
