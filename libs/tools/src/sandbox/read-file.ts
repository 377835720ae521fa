import type { SandboxReply } from '@caribou/contracts';
import { type AnyTool, defineTool, contentHashMark, type SandboxPort, type ToolOutcome } from '@caribou/core';
import { z } from 'zod';
import { cutEnd } from './cut-text.js';
import { DESCRIPTION_HINT, toFailedOutcome, refusalText, scopeOf } from './sandbox-request.js';

const MAX_CHARS = 50_000;
/** Maximum bytes of `MAX_CHARS` characters: four each. */
const MAX_BYTES = 4 * MAX_CHARS;

const Input = z.object({
  description: z.string().default('').describe(DESCRIPTION_HINT),
  path: z.string().min(1).max(4096).describe('Absolute path of the file, below /mnt/user-data or /mnt/skills.'),
  start_line: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('First line, 1-based, inclusive. Omit to start at the beginning.'),
  end_line: z.number().int().min(1).optional().describe('Last line, 1-based, inclusive. Omit to read to the end.'),
});
type Range = Pick<z.infer<typeof Input>, 'start_line' | 'end_line'>;

/** Reads a text file of the thread's sandbox. */
export function readFileTool(sandbox: SandboxPort): AnyTool {
  return defineTool({
    name: 'read_file',
    group: 'file:read',
    description:
      'Read a text file. Give start_line and end_line to read a part of a long one; at most 50000 characters are shown.',
    input: Input,
    async run({ path, start_line, end_line }, context) {
      if (start_line !== undefined && end_line !== undefined && end_line < start_line) {
        return { content: '(end_line is before start_line)' };
      }
      const request = { key: context.key, path, start_line, end_line, max_bytes: MAX_BYTES };
      const read = await sandbox.read(scopeOf(context), request, context.run.signal);
      if (read.outcome === 'refused') return toFailedOutcome(formatRefusal(read.reason, path));
      const outcome = toReadOutcome(read, { start_line, end_line });
      return read.sha256 === undefined ? outcome : { ...outcome, additionalKwargs: contentHashMark(path, read.sha256) };
    },
  });
}

function toReadOutcome(read: Extract<SandboxReply<'read'>, { outcome: 'ok' }>, range: Range): ToolOutcome {
  if (range.start_line !== undefined && range.start_line > 1 && range.start_line > read.total_lines) {
    return { content: `(start_line exceeds file length of ${read.total_lines} lines)` };
  }
  if (read.text === '') return { content: '(empty)' };
  const text = cutEnd(read.text, MAX_CHARS);
  if (text.length === read.text.length && !read.truncated) return { content: text };
  const hint = `the file has ${read.total_lines} lines, ${read.total_bytes} bytes; use start_line and end_line to read the rest`;
  return { content: `${text}\n... [shortened after ${text.length} characters: ${hint}]` };
}

function formatRefusal(reason: string, path: string): string {
  if (reason === 'permission') return `Permission denied reading file: ${path}`;
  if (reason === 'binary') return `File is not text: ${path}. Use bash to inspect or convert it.`;
  if (reason === 'too_large')
    return `File is too large to read: ${path}. Use bash (head, tail, sed) to look at a part.`;
  return refusalText(reason, path) ?? `Could not read file '${path}': ${reason}`;
}
