import { z } from 'zod';
import { rpc } from './contract.js';
import { sandboxScope, onBehalfOf, path } from './sandbox.js';

/** Maximum bytes of a file in one reply; base64 increases them by a third. */
export const MAX_REPLY_FILE_BYTES = 512 * 1024;

/** Reads a part of any regular file below the virtual root; a part beyond its end is empty. */
export const SandboxReadBytes = rpc({
  name: 'read_bytes',
  request: z.object({
    ...sandboxScope,
    ...onBehalfOf,
    path,
    offset: z.number().int().min(0),
    max_bytes: z.number().int().min(1).max(MAX_REPLY_FILE_BYTES),
  }),
  reply: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('ok'),
      base64: z.string(),
      bytes: z.number().int().describe('In base64'),
      total_bytes: z.number().int().describe('Of the file'),
    }),
    z.object({
      outcome: z.literal('refused'),
      reason: z.enum(['not_found', 'is_directory', 'not_regular', 'permission', 'outside']),
    }),
  ]),
  timeoutMs: 30_000,
});
