import { type AnyTool, defineTool, defuseFrameworkTags, type SandboxPort } from '@caribou/core';
import { z } from 'zod';
import { directoryPath, lookupAnswer, lookupRefusal } from './lookup-answer.js';
import { DESCRIPTION_HINT, toFailedOutcome, scopeOf } from './sandbox-request.js';

const MAX_RESULTS = 500;

const Input = z.object({
  description: z.string().default('').describe(DESCRIPTION_HINT),
  pattern: z.string().min(1).max(1000).describe('A JavaScript regular expression, matched with each line.'),
  path: directoryPath,
  glob: z.string().min(1).max(200).optional().describe('Only files that fit, such as *.py or src/**/*.ts.'),
  literal: z.boolean().default(false).describe('Take the pattern as plain text.'),
  case_sensitive: z.boolean().default(false).describe('Tell upper from lower case.'),
  max_results: z.number().int().min(1).default(100).describe('At most 500.'),
});

/** Finds lines in the text files of the thread's sandbox. */
export function grepTool(sandbox: SandboxPort): AnyTool {
  return defineTool({
    name: 'grep',
    group: 'file:read',
    description:
      'Find lines in a text file, or in those below a directory; the answer is path:line: text. Long lines are shown to 200 ' +
      'characters. Left out: binary files, files over 1 MB, links, and what programs make (version control, ' +
      'installed packages, caches, build output, logs).',
    input: Input,
    async run({ pattern, path, glob, literal, case_sensitive, max_results }, context) {
      const request = {
        key: context.key,
        path,
        pattern,
        literal,
        case_sensitive,
        glob,
        max_results: Math.min(max_results, MAX_RESULTS),
      };
      const found = await sandbox.grep(scopeOf(context), request, context.run.signal);
      if (found.outcome === 'refused') return toFailedOutcome(lookupRefusal(found.reason, path));
      if (found.outcome === 'invalid_pattern') return toFailedOutcome(`Invalid regex pattern: ${found.message}`);
      const lines = found.matches.map((match) => `${defuseFrameworkTags(match.path)}:${match.line}: ${match.text}`);
      const { truncated, incomplete } = found;
      return { content: lookupAnswer({ what: 'matches', root: path, lines, truncated, incomplete }) };
    },
  });
}
