import { z } from 'zod';

export const AgentsApiFile = z
  .object({
    enabled: z
      .boolean()
      .default(true)
      .describe(
        'Users create and change agents of their own, over HTTP and in a conversation; off: existing agents still work',
      ),
  })
  .describe('Custom agents (docs/agents.md)');
