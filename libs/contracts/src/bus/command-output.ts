import { z } from 'zod';

/** What a running command has written since the piece before; its result, once it has ended, holds it as well. */
export const OutputPiece = z.object({
  stdout: z.string(),
  stderr: z.string(),
  omitted_chars: z.number().int().min(0).describe('Left out before this text: more came at once than is told'),
  truncated: z.boolean().describe('Nothing more is told while the command runs: it has written too much'),
});
export type OutputPiece = z.infer<typeof OutputPiece>;
