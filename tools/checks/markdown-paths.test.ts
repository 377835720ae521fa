import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const repository = join(__dirname, '..', '..');
const skipped = new Set(['node_modules', 'dist', '.git', '.nx', '.caribou']);

/** Every file and folder of the repository by its path, without installed, built or generated ones. */
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

/** The code spans that have the form of a path or of a source file's name, without a `:line` suffix. */
function pathsNamedIn(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)]
    .map(([, code = '']) => code.replace(/:\d+$/, '').replace(/\/$/, ''))
    .filter((code) => /^[\w.@-]+(\/[\w.@<>*{},-]+)*$/.test(code))
    .filter((code) => (code.includes('/') ? tops.has(code.split('/')[0] ?? '') : SOURCE.test(code)));
}

interface Link {
  /** Empty for a link within the page. */
  readonly path: string;
  /** The part after `#`; empty for a link without it. */
  readonly anchor: string;
}

/** Links that lead to a file of the repository or to a heading of the page itself. */
function linksIn(text: string): Link[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', anchor = ''] = target.split('#');
      return { path, anchor };
    });
}

const withoutCode = (text: string): string => text.replace(/```[\s\S]*?```/g, '');

/** The anchors of a page's headings, as GitHub makes them: a repeated heading gets a number. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutCode(text).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = plain.replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-');
    let free = anchor;
    for (let count = 1; anchors.has(free); count++) free = `${anchor}-${count}`;
    anchors.add(free);
  }
  return anchors;
}

/** Why a link of a page leads nowhere; undefined when it leads somewhere. */
function faultOf(page: string, { path, anchor }: Link): string | undefined {
  const target = path === '' ? page : normalize(join(dirname(page), path)).replace(/\/$/, '');
  if (!exists(target)) return path;
  if (anchor === '' || !target.endsWith('.md')) return undefined;
  const isHeading = anchorsOf(readFileSync(join(repository, target), 'utf8')).has(anchor);
  return isHeading ? undefined : `${path}#${anchor}`;
}

describe('Markdown pages', () => {
  test.each(pages)('%s names only files and headings that exist', (page) => {
    const text = withoutCode(readFileSync(join(repository, page), 'utf8'));
    const named = pathsNamedIn(text).filter((code) => !(code.includes('/') ? exists(code) : names.has(code)));
    const linked = linksIn(text).flatMap((link) => faultOf(page, link) ?? []);

    expect([...named, ...linked]).toEqual([]);
  });

  test('a path that does not exist is found', () => {
    expect(pathsNamedIn('`libs/core/src/none.ts:3` `none.ts` `npm test` `a/b` `libs/<lib>/src`')).toEqual([
      'libs/core/src/none.ts',
      'none.ts',
      'libs/<lib>/src',
    ]);
    expect(linksIn('[a](b.md#c) [d](https://e.example) [f](#g)')).toEqual([
      { path: 'b.md', anchor: 'c' },
      { path: '', anchor: 'g' },
    ]);
    expect([exists('libs/core/src/none.ts'), exists('libs/<lib>/src')]).toEqual([false, true]);
  });

  test('a heading that does not exist is found, in the page itself and in another one', () => {
    expect(faultOf('README.md', { path: 'docs/network.md', anchor: 'egress-proxy' })).toBeUndefined();
    expect(faultOf('README.md', { path: 'docs/network.md', anchor: 'none' })).toBe('docs/network.md#none');
    expect(faultOf('docs/network.md', { path: '', anchor: 'none' })).toBe('#none');
  });

  test('anchors are those of GitHub', () => {
    const text = '# TLS, nkeys and JWTs\n\n## `a_b` [Link](x.md)\n\n```\n# code\n```\n\n## Same\n\n## Same\n';

    expect([...anchorsOf(text)]).toEqual(['tls-nkeys-and-jwts', 'a_b-link', 'same', 'same-1']);
  });
});
