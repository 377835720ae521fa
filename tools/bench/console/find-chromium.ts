import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of the program `chromium`; undefined when there is none on this machine. */
export function findChromium(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, 'chromium')).find((path) => existsSync(path));
}
