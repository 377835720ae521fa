import type { SandboxPort, SandboxScope } from '../ports/sandbox-port.js';
import { VIRTUAL_ROOT } from '../text/virtual-path.js';

const FOLDER = `${VIRTUAL_ROOT}/uploads`;
const KIB = 1024;

/** Control characters, and characters that reverse the text direction or are invisible. */
export const invisibleCharacters =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Virtual path of a file in the thread's uploads. */
export const uploadsPath = (name: string): string => `${FOLDER}/${name}`;

/** Escapes a name or path for a model, so that it can neither close a block nor begin a new line. */
export const escapeName = (text: string): string =>
  text.replace(invisibleCharacters, '?').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A size in KB with one decimal, or in MB from 1024 KB. */
export function formatSize(bytes: number): string {
  const kib = bytes / KIB;
  return kib < KIB ? `${kib.toFixed(1)} KB` : `${(kib / KIB).toFixed(1)} MB`;
}

export interface UploadsAccess {
  readonly sandbox: Pick<SandboxPort, 'list' | 'stat'>;
  readonly scope: SandboxScope;
  readonly signal: AbortSignal;
}

/** Lists at most `limit` names of the thread's uploads; none when the folder cannot be read. */
export async function listUploadNames(
  { sandbox, scope, signal }: UploadsAccess,
  limit: number,
): Promise<readonly string[]> {
  const listed = await sandbox.list(scope, { path: FOLDER, depth: 1, max_results: limit }, signal);
  if (listed.outcome !== 'ok') return [];
  return listed.paths
    .filter((path) => path.startsWith(`${FOLDER}/`) && !path.endsWith('/'))
    .map((path) => path.slice(FOLDER.length + 1));
}

/** Reads the sizes in bytes, by name, of those that are regular files. */
export async function readUploadSizes(
  { sandbox, scope, signal }: UploadsAccess,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (names.length === 0) return new Map();
  const { files } = await sandbox.stat(scope, { paths: names.map(uploadsPath) }, signal);
  return new Map(
    names.flatMap((name, at): [string, number][] => {
      const file = files[at];
      return file?.outcome === 'file' ? [[name, file.bytes]] : [];
    }),
  );
}
