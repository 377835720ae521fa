import { z } from 'zod';
import { refusalText } from './sandbox-request.js';

/** Schema of a directory to list or search. */
export const directoryPath = z
  .string()
  .min(1)
  .max(4096)
  .describe('Absolute path of the directory, /mnt/user-data or below it.');

/** Text for the model why a directory could not be read. */
export function lookupRefusal(reason: string, path: string): string {
  const texts: Readonly<Record<string, string>> = {
    not_found: `Directory not found: ${path}`,
    not_directory: `Path is not a directory: ${path}`,
    permission: `Permission denied: ${path}`,
  };
  return texts[reason] ?? refusalText(reason, path) ?? `Could not look into '${path}': ${reason}`;
}

export interface Lookup {
  /** What was searched for: `paths` or `matches`. */
  readonly what: 'paths' | 'matches';
  readonly root: string;
  readonly lines: readonly string[];
  readonly truncated: boolean;
  readonly incomplete: boolean;
}

/** The result of a search: the number of results, then a line for each. */
export function lookupAnswer({ what, root, lines, truncated, incomplete }: Lookup): string {
  const partly = incomplete
    ? ['(Not everything below this path was searched: there is too much of it. Choose a narrower path or pattern.)']
    : [];
  if (lines.length === 0) {
    const none = what === 'paths' ? 'No files matched under' : 'No matches found under';
    return [`${none} ${root}`, ...partly].join('\n');
  }
  const first = truncated ? ` (showing the first ${lines.length})` : '';
  const more = truncated ? ['(There are more. Choose a narrower path or pattern.)'] : [];
  return [`Found ${lines.length} ${what} under ${root}${first}`, ...lines, ...more, ...partly].join('\n');
}
