import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const repository = join(__dirname, '..', '..');
const skipped = new Set(['node_modules', 'dist', '.git', '.nx', '.caribou', 'recordings']);

/** Every file and folder of the repository by its path, without what is installed, built or written by a run. */
function entriesOf(folder = ''): string[] {
  return readdirSync(join(repository, folder), { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name)) return [];
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    return entry.isDirectory() ? [path, ...entriesOf(path)] : [path];
  });
}

const entries = entriesOf();
const paths = new Set(entries);
const tops = new Set(entries.map((path) => path.split('/')[0]));
const names = new Set(entries.map((path) => path.slice(path.lastIndexOf('/') + 1)));
const pages = entries.filter((path) => path.endsWith('.md') && !path.startsWith('skills/'));
const SOURCE = /\.(ts|tsx|cjs|mjs|js|lua)$/;

/** The part before a placeholder, as in `libs/<lib>/src`. */
const known = (path: string): string => path.replace(/\/[^/]*[<*{].*$/, '');

const exists = (path: string): boolean => paths.has(known(path)) || skipped.has(path.split('/')[0] ?? '');

/** What is marked as code and has the form of a path or of a source file's name, without `:line` behind it. */
function pathsNamedIn(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)]
    .map(([, code = '']) => code.replace(/:\d+$/, '').replace(/\/$/, ''))
    .filter((code) => /^[\w.@-]+(\/[\w.@<>*{},-]+)*$/.test(code))
    .filter((code) => (code.includes('/') ? tops.has(code.split('/')[0] ?? '') : SOURCE.test(code)));
}

function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target.replace(/#.*$/, ''))
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target));
}

describe('Markdown pages', () => {
  test.each(pages)('%s names only files that exist', (page) => {
    const text = readFileSync(join(repository, page), 'utf8').replace(/```[\s\S]*?```/g, '');
    const named = pathsNamedIn(text).filter((code) => !(code.includes('/') ? exists(code) : names.has(code)));
    const linked = linksIn(text).filter((target) => !exists(normalize(join(dirname(page), target)).replace(/\/$/, '')));

    expect([...named, ...linked]).toEqual([]);
  });

  test('a path that does not exist is found', () => {
    expect(pathsNamedIn('`libs/core/src/none.ts:3` `none.ts` `npm test` `a/b` `libs/<lib>/src`')).toEqual([
      'libs/core/src/none.ts',
      'none.ts',
      'libs/<lib>/src',
    ]);
    expect(linksIn('[a](b.md#c) [d](https://e.example) [f](#g)')).toEqual(['b.md']);
    expect([exists('libs/core/src/none.ts'), exists('libs/<lib>/src')]).toEqual([false, true]);
  });
});
