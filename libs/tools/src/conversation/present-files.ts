import { type AnyTool, defineTool, formatVirtualPath, parseVirtualPath, type SandboxPort } from '@caribou/core';
import { z } from 'zod';
import { toFailedOutcome, refusalText, scopeOf } from '../sandbox/sandbox-request.js';

const Input = z.object({
  filepaths: z
    .array(z.string().min(1).max(4096))
    .min(1)
    .max(100)
    .describe('Absolute paths of files in /mnt/user-data/outputs.'),
});

/** Shows files to the user by adding them to the thread's artifacts, all of them or none. */
export function presentFilesTool(sandbox: SandboxPort): AnyTool {
  return defineTool({
    name: 'present_files',
    description:
      'Show finished files to the person. Only files in /mnt/user-data/outputs can be shown: move or write them ' +
      'there first. Call it once everything is written; several files can be shown together.',
    input: Input,
    async run({ filepaths }, context) {
      const paths: string[] = [];
      for (const path of filepaths) {
        const output = outputPath(path);
        if (output === undefined)
          return toFailedOutcome(`Only files in /mnt/user-data/outputs can be presented: ${path}`);
        if (!paths.includes(output)) paths.push(output);
      }
      const { files } = await sandbox.stat(scopeOf(context), { key: context.key, paths }, context.run.signal);
      for (const [index, file] of files.entries()) {
        if (file.outcome === 'refused') return toFailedOutcome(formatRefusal(file.reason, paths[index] ?? ''));
      }
      return { content: 'Successfully presented files', update: { artifacts: paths } };
    },
  });
}

/** The canonical path; undefined unless it is below the outputs. */
function outputPath(path: string): string | undefined {
  const parsed = parseVirtualPath(path);
  return parsed?.directory === 'outputs' && parsed.segments.length > 0 ? formatVirtualPath(parsed) : undefined;
}

const formatRefusal = (reason: string, path: string): string =>
  refusalText(reason, path) ??
  (reason === 'permission' ? `Permission denied reading file: ${path}` : `${reason}: ${path}`);
