import { z } from 'zod';

export const AgentsApiFile = z
  .object({
    enabled: z
      .boolean()
      .default(true)
      .describe('Users make and change agents of their own, over HTTP and in a conversation; those there are go on'),
  })
  .describe('Custom agents (docs/agents.md)');
