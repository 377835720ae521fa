import { z } from 'zod';

/** How much a model reasons, if it supports the setting. */
export const ReasoningEffort = z.enum(['minimal', 'low', 'medium', 'high']);

const TEMPERATURE = 'must be a number from 0 to 2';
export const Temperature = z.number(TEMPERATURE).min(0, TEMPERATURE).max(2, TEMPERATURE);

const MAX_TOKENS = 'must be a whole number from 1 to 1000000';
/** Maximum tokens of one answer. */
export const MaxTokens = z.int(MAX_TOKENS).min(1, MAX_TOKENS).max(1_000_000, MAX_TOKENS);
