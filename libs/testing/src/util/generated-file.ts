import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Compares a file of the repository with the text that code makes of it. `npm run generate` writes the text instead.
 *
 * @param path absolute
 * @throws when the file has another text, naming the command
 */
export function expectGenerated(path: string, text: string): void {
  if (process.env['WRITE_GENERATED'] === '1') writeFileSync(path, text);
  if (readFileSync(path, 'utf8') !== text) throw new Error(`${path} is out of date: run "npm run generate"`);
}
