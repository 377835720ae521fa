import { z } from 'zod';

/** Output of a running command since the previous piece; the final result contains it too. */
export const OutputPiece = z.object({
  stdout: z.string(),
  stderr: z.string(),
  omitted_chars: z
    .number()
    .int()
    .min(0)
    .describe('Characters omitted before this text, because output arrived too fast'),
  truncated: z
    .boolean()
    .describe('No further output is published while the command runs, because it has written too much'),
});
export type OutputPiece = z.infer<typeof OutputPiece>;
