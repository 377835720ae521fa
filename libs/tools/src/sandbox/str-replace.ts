import type { SandboxReply } from '@caribou/contracts';
import { type AnyTool, defineTool, type SandboxPort, type ToolOutcome } from '@caribou/core';
import { z } from 'zod';
import { formatChangedFile, DESCRIPTION_HINT, toFailedOutcome, refusalText, scopeOf } from './sandbox-request.js';

/** Maximum bytes of UTF-8 in one argument, as for write_file. */
const MAX_TEXT_BYTES = 80 * 1024;
const MAX_SHOWN_RANGES = 50;

const Input = z.object({
  description: z.string().default('').describe(DESCRIPTION_HINT),
  path: z.string().min(1).max(4096).describe('Absolute path of the file, below /mnt/user-data.'),
  old_str: z.string().min(1).describe('The text to replace, exactly as it stands in the file. It must occur once.'),
  new_str: z.string().describe('The text to put in its place.'),
  replace_all: z.boolean().default(false).describe('Replace every occurrence instead of the only one.'),
});
type Edit = z.infer<typeof Input>;

/** Replaces a text in a file of the thread's sandbox, once per tool call even if the call is repeated. */
export function strReplaceTool(sandbox: SandboxPort): AnyTool {
  return defineTool({
    name: 'str_replace',
    group: 'file:write',
    description:
      'Replace a text in a file. The text must occur exactly once, unless replace_all is set. The answer names the ' +
      'changed lines.',
    input: Input,
    async run(input, context) {
      const { path, old_str, new_str, replace_all } = input;
      const bytes = Math.max(Buffer.byteLength(old_str, 'utf8'), Buffer.byteLength(new_str, 'utf8'));
      if (bytes > MAX_TEXT_BYTES) {
        return toFailedOutcome(
          `Text is ${bytes} bytes; at most ${MAX_TEXT_BYTES} bytes can be replaced at once: ${path}`,
        );
      }
      const texts = { old_text: old_str, new_text: new_str, replace_all };
      const request = { key: context.key, path, ...texts, expected: context.expectedFile };
      const edited = await sandbox.edit(scopeOf(context), request, context.run.signal);
      if (edited.outcome === 'refused' && edited.reason === 'changed')
        return toFailedOutcome(formatChangedFile(path, context));
      return answer(edited, input);
    },
  });
}

function answer(edited: SandboxReply<'edit'>, { path }: Edit): ToolOutcome {
  switch (edited.outcome) {
    case 'ok':
      return { content: `OK${changes(edited)}` };
    case 'not_unique':
      return toFailedOutcome(
        edited.count === 0
          ? `String to replace not found in file: ${path}`
          : `String to replace occurs ${edited.count} times in file: ${path}. ` +
              'Add surrounding lines so that it occurs once, or set replace_all=true.',
      );
    case 'refused':
      return toFailedOutcome(edited.message ?? formatRefusal(edited.reason, path));
    case 'unknown':
      return {
        ...toFailedOutcome(
          `The outcome of changing '${path}' is not known (${edited.reason}). ` +
            'Read the file before you change it again.',
        ),
        isUnknown: true,
      };
  }
}

function changes({ replaced, changed }: Extract<SandboxReply<'edit'>, { outcome: 'ok' }>): string {
  const ranges = changed
    .slice(0, MAX_SHOWN_RANGES)
    .map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`));
  const only = changed.length === 1 && changed[0]?.first === changed[0]?.last;
  const more = changed.length > MAX_SHOWN_RANGES ? ' and more' : '';
  const times = replaced === 1 ? '' : `${replaced} replacements, `;
  return ` (${times}changed ${only ? 'line' : 'lines'} ${ranges.join(', ')}${more})`;
}

function formatRefusal(reason: string, path: string): string {
  if (reason === 'permission') return `Permission denied writing to file: ${path}`;
  if (reason === 'no_space') return `No space left to write file: ${path}`;
  if (reason === 'too_large') return `File is too large to change: ${path}. Use bash (sed) instead.`;
  if (reason === 'binary') return `File is not text: ${path}. Use bash to change it.`;
  return refusalText(reason, path) ?? `Failed to change file '${path}': ${reason}`;
}
