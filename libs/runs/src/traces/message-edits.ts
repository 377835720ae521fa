import type { TextEdit } from '@caribou/core';

/** Most characters of what edits insert; a message that differs by more is stored whole. */
const MAX_INSERTED = 400;

/**
 * How a text was made of another one: by one replacement, or by an insertion before and one behind a part, as when a message is put
 * into quotes. Undefined when it differs by more.
 */
export function editsOf(original: string, changed: string): readonly TextEdit[] | undefined {
  const at = commonPrefix(original, changed);
  const rest = Math.min(original.length, changed.length) - at;
  const suffix = commonSuffix(original, changed, rest);
  const removed = original.slice(at, original.length - suffix);
  const inserted = changed.slice(at, changed.length - suffix);
  const found = inserted.indexOf(removed);
  if (found === -1) return inserted.length <= MAX_INSERTED ? [{ at, removed: removed.length, inserted }] : undefined;
  const [before, behind] = [inserted.slice(0, found), inserted.slice(found + removed.length)];
  if (before.length + behind.length > MAX_INSERTED) return undefined;
  return [
    { at, removed: 0, inserted: before },
    { at: at + removed.length, removed: 0, inserted: behind },
  ];
}

function commonPrefix(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length += 1;
  return length;
}

function commonSuffix(one: string, other: string, most: number): number {
  const [oneEnd, otherEnd] = [one.length - 1, other.length - 1];
  let length = 0;
  while (length < most && one.charCodeAt(oneEnd - length) === other.charCodeAt(otherEnd - length)) length += 1;
  return length;
}
