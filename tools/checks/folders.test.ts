import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

const repository = join(__dirname, '..', '..');
const MAX_FILES = 20;

const isSource = (name: string): boolean => /\.(ts|js|mjs|cjs|lua)$/.test(name) && !name.endsWith('.test.ts');

/** Source files without tests below a folder, by their paths from the repository's root. */
function sourcesBelow(folder: string): string[] {
  return readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter(isSource)
    .map((file) => join(folder, file));
}

/** For each folder of a lib the folders of the same lib that its files import. */
function importsBetweenFolders(files: readonly string[]): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const file of files.filter((name) => name.endsWith('.ts') && !name.endsWith('/src/index.ts'))) {
    const from = dirname(file);
    const targets = graph.get(from) ?? new Set();
    graph.set(from, targets);
    for (const [, path = ''] of readFileSync(join(repository, file), 'utf8').matchAll(/ from '(\.[^']+)'/g)) {
      const to = dirname(normalize(join(from, path)));
      if (to !== from) targets.add(to);
    }
  }
  return graph;
}

/** The folders from which `start` can be reached again, in the order in which they are imported. */
function circleThrough(graph: ReadonlyMap<string, ReadonlySet<string>>, start: string): string[] | undefined {
  const seen = new Set<string>();
  const queue = [[start]];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    for (const next of graph.get(path.at(-1) ?? '') ?? []) {
      if (next === start) return [...path, start];
      if (!seen.has(next)) queue.push([...path, next]);
      seen.add(next);
    }
  }
  return undefined;
}

describe('folders', () => {
  const libs = readdirSync(join(repository, 'libs')).map((lib) => `libs/${lib}/src`);
  const apps = readdirSync(join(repository, 'apps')).map((app) => `apps/${app}/src`);

  test.each(libs)('%s has no folders that import each other in a circle', (lib) => {
    const graph = importsBetweenFolders(sourcesBelow(lib));
    const circles = [...graph.keys()].map((folder) => circleThrough(graph, folder)).filter((circle) => circle);

    expect(circles.map((circle) => circle?.map((folder) => relative(lib, folder)).join(' → '))).toEqual([]);
  });

  test('a circle is found', () => {
    const graph = new Map([
      ['a', new Set(['b'])],
      ['b', new Set(['c'])],
      ['c', new Set(['a'])],
      ['d', new Set(['a'])],
    ]);
    expect([circleThrough(graph, 'a'), circleThrough(graph, 'd')]).toEqual([['a', 'b', 'c', 'a'], undefined]);
  });

  test(`none has more than ${MAX_FILES} source files`, () => {
    const counts = new Map<string, number>();
    for (const file of [...libs, ...apps, 'tools'].flatMap(sourcesBelow)) {
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    }

    expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
  });
});
