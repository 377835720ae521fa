import { z } from 'zod';

/** How much a model reasons, if it supports the setting. */
export const ReasoningEffort = z.enum(['minimal', 'low', 'medium', 'high']);
