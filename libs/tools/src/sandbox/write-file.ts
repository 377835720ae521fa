import { type AnyTool, defineTool, type SandboxPort } from '@caribou/core';
import { z } from 'zod';
import { formatChangedFile, DESCRIPTION_HINT, toFailedOutcome, refusalText, scopeOf } from './sandbox-request.js';

/** Maximum bytes of UTF-8 that one call writes, as models truncate longer arguments, which is invalid JSON. */
const MAX_CONTENT_BYTES = 80 * 1024;

const Input = z.object({
  description: z.string().default('').describe(DESCRIPTION_HINT),
  path: z.string().min(1).max(4096).describe('Absolute path of the file, below /mnt/user-data. Directories are made.'),
  content: z.string().describe('The text to write.'),
  append: z.boolean().default(false).describe('Add to the end of the file instead of replacing it.'),
});

/** Writes a text file in the thread's sandbox, once per tool call even if the call is repeated. */
export function writeFileTool(sandbox: SandboxPort): AnyTool {
  return defineTool({
    name: 'write_file',
    group: 'file:write',
    description:
      'Write text to a file, replacing it or, with append, adding to its end. At most 80 KB in one call: write a ' +
      'longer file in parts with append.',
    input: Input,
    async run({ path, content, append }, context) {
      const bytes = Buffer.byteLength(content, 'utf8');
      if (bytes > MAX_CONTENT_BYTES) {
        return toFailedOutcome(
          `Content is ${bytes} bytes; at most ${MAX_CONTENT_BYTES} bytes can be written at once: ${path}. ` +
            'Write the first part, then add the others with append=true.',
        );
      }
      const written = await sandbox.write(
        scopeOf(context),
        { key: context.key, path, content, append, expected: context.expectedFile },
        context.run.signal,
      );
      if (written.outcome === 'ok') return { content: 'OK' };
      if (written.outcome === 'refused' && written.reason === 'changed')
        return toFailedOutcome(formatChangedFile(path, context));
      if (written.outcome === 'refused') return toFailedOutcome(written.message ?? formatRefusal(written.reason, path));
      return toFailedOutcome(
        `The outcome of writing '${path}' is not known (${written.reason}). ` +
          'Read the file before you write it again.',
      );
    },
  });
}

function formatRefusal(reason: string, path: string): string {
  if (reason === 'permission') return `Permission denied writing to file: ${path}`;
  if (reason === 'no_space') return `No space left to write file: ${path}`;
  if (reason === 'too_large') return `File would become too large: ${path}`;
  return refusalText(reason, path) ?? `Failed to write file '${path}': ${reason}`;
}
