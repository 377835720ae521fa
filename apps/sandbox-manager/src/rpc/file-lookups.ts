import type { SandboxGlob, SandboxGrep, SandboxList, SandboxStat } from '@caribou/contracts';
import {
  type FileRefusal,
  FileRefusedError,
  findFiles,
  type Found,
  listDirectory,
  type LookupTarget,
  searchLines,
  type ThreadFiles,
} from '@caribou/files';
import type { z } from 'zod';
import { threadOf } from './sandbox-commands.js';

type ListRequest = z.output<(typeof SandboxList)['request']>;
type GlobRequest = z.output<(typeof SandboxGlob)['request']>;
type GrepRequest = z.output<(typeof SandboxGrep)['request']>;
type StatRequest = z.output<(typeof SandboxStat)['request']>;
type FoundReply = z.output<(typeof SandboxList)['reply']>;
type GrepReply = z.output<(typeof SandboxGrep)['reply']>;
type StatReply = z.output<(typeof SandboxStat)['reply']>;

// Lookups change nothing, so they are not recorded in the journal.

const parsePath = (request: ListRequest | GlobRequest | GrepRequest): LookupTarget => ({
  thread: threadOf(request),
  path: request.path,
});

type LookupRefused = Extract<FoundReply, { outcome: 'refused' }>;

/** The refusal for an error of a lookup; reasons that a lookup's reply does not have become `not_directory`. */
function toRefusal(error: unknown): LookupRefused {
  if (!(error instanceof FileRefusedError)) throw error;
  const { reason } = error;
  const isSame = reason === 'not_found' || reason === 'permission' || reason === 'outside';
  return { outcome: 'refused', reason: isSame ? reason : 'not_directory' };
}

async function replyWithPaths(search: Promise<Found<string>>): Promise<FoundReply> {
  try {
    const { found, truncated, incomplete } = await search;
    return { outcome: 'ok', paths: [...found], truncated, incomplete };
  } catch (error) {
    return toRefusal(error);
  }
}

export const listFiles = (request: ListRequest, files: ThreadFiles): Promise<FoundReply> =>
  replyWithPaths(listDirectory(files, parsePath(request), { depth: request.depth, maxResults: request.max_results }));

export const globFiles = (request: GlobRequest, files: ThreadFiles): Promise<FoundReply> =>
  replyWithPaths(
    findFiles(files, parsePath(request), {
      pattern: request.pattern,
      includeDirectories: request.include_dirs,
      maxResults: request.max_results,
    }),
  );

export async function grepFiles(request: GrepRequest, files: ThreadFiles): Promise<GrepReply> {
  const pattern = compilePattern(request);
  if (typeof pattern === 'string') return { outcome: 'invalid_pattern', message: pattern };
  try {
    const query = { pattern, glob: request.glob, maxResults: request.max_results };
    const { found, truncated, incomplete } = await searchLines(files, parsePath(request), query);
    return { outcome: 'ok', matches: [...found], truncated, incomplete };
  } catch (error) {
    return toRefusal(error);
  }
}

/** The regular expression of the request, or the error message when it is invalid. */
function compilePattern({ pattern, literal, case_sensitive }: GrepRequest): RegExp | string {
  try {
    const source = literal ? pattern.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&') : pattern;
    return new RegExp(source, case_sensitive ? '' : 'i');
  } catch (error) {
    if (error instanceof SyntaxError) return error.message;
    throw error;
  }
}

type StatRefusal = Extract<StatReply['files'][number], { outcome: 'refused' }>['reason'];
/** The reason of a refused `stat`; reasons about the content, which `stat` does not read, become `not_regular`. */
const toStatRefusal = (reason: FileRefusal): StatRefusal =>
  reason === 'binary' || reason === 'too_large' || reason === 'no_space' ? 'not_regular' : reason;

export async function statFiles(request: StatRequest, files: ThreadFiles): Promise<StatReply> {
  const found: StatReply['files'] = [];
  for (const path of request.paths) {
    try {
      const handle = await files.openFile(threadOf(request), path);
      try {
        found.push({ outcome: 'file', bytes: (await handle.stat()).size });
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (!(error instanceof FileRefusedError)) throw error;
      found.push({ outcome: 'refused', reason: toStatRefusal(error.reason) });
    }
  }
  return { files: found };
}
