import { z } from 'zod';
import { integer, ms } from './kinds/setting-kinds.js';

export const SuggestionsFile = z
  .object({
    enabled: z.boolean().default(true).describe('Propose follow-up questions when a client asks for them'),
    max_suggestions: integer(3, 1, 5).describe('Questions proposed at most'),
    model_name: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Model that proposes them; null: the one that the request names, else the default'),
    timeout_ms: ms(20_000, 120_000).describe('Longest wait for the model; then nothing is proposed'),
  })
  .describe('Follow-up questions');
