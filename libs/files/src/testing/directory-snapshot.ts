import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * All that is below a directory, by path (each byte a character): kind, permissions, time of modification of files in milliseconds,
 * and content. Times of directories and links are left out.
 */
export function snapshotOf(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (path: Buffer, shown: string): void => {
    const stat = lstatSync(path);
    const mode = (stat.mode & 0o777).toString(8);
    if (stat.isSymbolicLink()) found[shown] = `link ${readlinkSync(path, 'latin1')}`;
    else if (stat.isFile()) {
      found[shown] = `file ${mode} ${Math.round(stat.mtimeMs)} ${readFileSync(path).toString('base64')}`;
    } else if (stat.isDirectory()) {
      found[shown] = `directory ${mode}`;
      for (const name of readdirSync(path, { encoding: 'buffer' })) {
        visit(Buffer.concat([path, Buffer.from('/'), name]), `${shown}/${name.toString('latin1')}`);
      }
    } else found[shown] = 'special';
  };
  visit(Buffer.from(root), '');
  return found;
}
