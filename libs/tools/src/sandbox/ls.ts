import { type AnyTool, defineTool, defuseFrameworkTags, type SandboxPort } from '@caribou/core';
import { z } from 'zod';
import { cutEnd } from './cut-text.js';
import { directoryPath, lookupRefusal } from './lookup-answer.js';
import { DESCRIPTION_HINT, toFailedOutcome, scopeOf } from './sandbox-request.js';

const DEPTH = 2;
const MAX_ENTRIES = 1000;
const MAX_CHARS = 20_000;
const SHORTENED = '\n... [shortened: list a directory further down to see the rest]';

const Input = z.object({ description: z.string().default('').describe(DESCRIPTION_HINT), path: directoryPath });

/** Lists a directory of the thread's sandbox, and the directories in it. */
export function lsTool(sandbox: SandboxPort): AnyTool {
  return defineTool({
    name: 'ls',
    group: 'file:read',
    description:
      'List a directory and the directories in it, one path a line, directories with a slash at their end. ' +
      'What programs make is left out: version control, installed packages, caches, build output, logs.',
    input: Input,
    async run({ path }, context) {
      const request = { key: context.key, path, depth: DEPTH, max_results: MAX_ENTRIES };
      const listed = await sandbox.list(scopeOf(context), request, context.run.signal);
      if (listed.outcome === 'refused') return toFailedOutcome(lookupRefusal(listed.reason, path));
      return { content: formatListing(listed.paths, listed.truncated || listed.incomplete) };
    },
  });
}

function formatListing(paths: readonly string[], isPart: boolean): string {
  if (paths.length === 0) return '(empty)';
  const text = defuseFrameworkTags(paths.join('\n'));
  if (!isPart && text.length <= MAX_CHARS) return text;
  const room = MAX_CHARS - SHORTENED.length;
  if (text.length <= room) return text + SHORTENED;
  const head = cutEnd(text, room + 1);
  return head.slice(0, head.lastIndexOf('\n')) + SHORTENED;
}
