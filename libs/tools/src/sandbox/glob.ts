import { type AnyTool, defineTool, defuseFrameworkTags, type SandboxPort } from '@caribou/core';
import { z } from 'zod';
import { directoryPath, lookupAnswer, lookupRefusal } from './lookup-answer.js';
import { DESCRIPTION_HINT, toFailedOutcome, scopeOf } from './sandbox-request.js';

const MAX_RESULTS = 1000;

const Input = z.object({
  description: z.string().default('').describe(DESCRIPTION_HINT),
  pattern: z
    .string()
    .min(1)
    .max(200)
    .describe(
      'Relative to the path: *, ?, [a-z], {a,b}, ** for any directories. Without a slash: the file name alone.',
    ),
  path: directoryPath,
  include_dirs: z.boolean().default(false).describe('Directories too, with a slash at their end.'),
  max_results: z.number().int().min(1).default(200).describe('At most 1000.'),
});

/** Finds files of the thread's sandbox by a pattern. */
export function globTool(sandbox: SandboxPort): AnyTool {
  return defineTool({
    name: 'glob',
    group: 'file:read',
    description:
      'Find files by a pattern such as *.py or src/**/*.{ts,tsx}. Links are left out, and what programs make: ' +
      'version control, installed packages, caches, build output, logs.',
    input: Input,
    async run({ pattern, path, include_dirs, max_results }, context) {
      if (pattern.startsWith('/')) return toFailedOutcome(`Pattern must be relative to the path: ${pattern}`);
      const most = Math.min(max_results, MAX_RESULTS);
      const request = { key: context.key, path, pattern, include_dirs, max_results: most };
      const found = await sandbox.glob(scopeOf(context), request, context.run.signal);
      if (found.outcome === 'refused') return toFailedOutcome(lookupRefusal(found.reason, path));
      const lines = found.paths.map((entry, index) => `${index + 1}. ${defuseFrameworkTags(entry)}`);
      const { truncated, incomplete } = found;
      return { content: lookupAnswer({ what: 'paths', root: path, lines, truncated, incomplete }) };
    },
  });
}
