import { z } from 'zod';

/** How long a model thinks, where it can be told. */
export const ReasoningEffort = z.enum(['minimal', 'low', 'medium', 'high']);
