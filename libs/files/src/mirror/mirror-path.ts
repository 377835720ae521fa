import { InvalidRequestError } from '@caribou/contracts';
import { MAX_PATH_BYTES } from '../plane/tree/tree-nodes.js';
import { MAX_MEASURED_DEPTH } from '../quota/disk-usage.js';

const MAX_NAME_BYTES = 255;
const PERMISSIONS = 0o777;

const isName = (name: string): boolean =>
  name !== '' && name !== '.' && name !== '..' && name.length <= MAX_NAME_BYTES && !hasForeign(name);

/** Whether a text has the character 0, or one that is no byte. */
function hasForeign(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0 || code > 0xff) return true;
  }
  return false;
}

/**
 * Checks a path that another process has sent.
 *
 * @param roots the names that a path may begin with
 * @throws {InvalidRequestError} for one that no tree has
 */
export function requireMirrorPath(path: string, roots: readonly string[]): void {
  const names = path.split('/');
  const [first = ''] = names;
  const isFit = path.length <= MAX_PATH_BYTES && names.length <= MAX_MEASURED_DEPTH + 2;
  if (isFit && roots.includes(first) && names.every(isName)) return;
  throw new InvalidRequestError(
    `a path of files that are exchanged begins with ${roots.join(', ')}, has at most ${MAX_PATH_BYTES} bytes in names of 1 to ${MAX_NAME_BYTES}, and ${MAX_MEASURED_DEPTH + 2} names`,
  );
}

/** @throws {InvalidRequestError} for a target that no link can have */
export function requireLinkTarget(target: string): void {
  if (target !== '' && target.length < MAX_PATH_BYTES && !hasForeign(target)) return;
  throw new InvalidRequestError(`the target of a link has 1 to ${MAX_PATH_BYTES - 1} bytes, none of them 0`);
}

/** @throws {InvalidRequestError} */
export function requireMode(mode: number): void {
  if (Number.isInteger(mode) && mode >= 0 && mode <= PERMISSIONS) return;
  throw new InvalidRequestError('the mode of an entry has permission bits only');
}
