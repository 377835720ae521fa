import type { Message } from '@caribou/contracts';
import { z } from 'zod';
import { formatVirtualPath, parseVirtualPath } from '../text/virtual-path.js';

const KEY = 'file_mark';
const FileMark = z.object({ path: z.string(), sha256: z.string() });

/** `additional_kwargs` of a tool message: which file the agent read by the call, and its SHA-256 (hex) at that time. */
export const contentHashMark = (path: string, sha256: string): Readonly<Record<string, unknown>> => ({
  [KEY]: { path: canonical(path), sha256 },
});

/** SHA-256 of the file when the agent last read it, by the newest mark in the thread; null when it never read it. */
export function lastReadHash(messages: readonly Message[], path: string): string | null {
  const wanted = canonical(path);
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    const mark = message?.type === 'tool' ? FileMark.safeParse(message.additional_kwargs[KEY]).data : undefined;
    if (mark?.path === wanted) return mark.sha256;
  }
  return null;
}

/** The canonical spelling of a path, so that one file has one mark. */
function canonical(path: string): string {
  const parsed = parseVirtualPath(path);
  return parsed === null ? path : formatVirtualPath(parsed);
}
