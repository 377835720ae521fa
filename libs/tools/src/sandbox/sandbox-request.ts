import type { SandboxScope, ToolContext, ToolOutcome } from '@caribou/core';

/** Shown by clients and stored in logs; execution ignores it. */
export const DESCRIPTION_HINT = 'Why you do this, in a few words. Always give this first.';

export const scopeOf = ({ run }: ToolContext): SandboxScope => ({
  userId: run.userId,
  threadId: run.threadId,
  epoch: run.epoch,
});

/** An expected failure as a result for the model. */
export const toFailedOutcome = (text: string): ToolOutcome => ({ content: `Error: ${text}`, isError: true });

/** Text for the model why the sandbox refused a path; undefined for reasons without a special text. */
export function refusalText(reason: string, path: string): string | undefined {
  const texts: Readonly<Record<string, string>> = {
    not_found: `File not found: ${path}`,
    is_directory: `Path is a directory, not a file: ${path}`,
    not_regular: `Not a regular file: ${path}`,
    outside: `Path is outside the allowed directories (/mnt/user-data/workspace, /mnt/user-data/uploads, /mnt/user-data/outputs): ${path}`,
  };
  return texts[reason];
}

/** Text for the model why a file with unexpected content was not changed, and what to do. */
export function formatChangedFile(path: string, { expectedFile }: ToolContext): string {
  const why =
    expectedFile === undefined || expectedFile.sha256 === null
      ? `File exists and you have not read it in this conversation: ${path}.`
      : `File has changed since you last read it, by a command or by a change of your own: ${path}.`;
  return (
    `${why} Nothing was written. Call read_file on it (some lines are enough), then make the change. ` +
    'To replace a file that cannot be read, remove it with bash first, or write to another path.'
  );
}
