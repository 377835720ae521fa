import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { httpRoutes } from '@caribou/contracts';

const sources = join(__dirname, '..');

/** `endpoint<typeof usageRoutes.get>('GET', '/usage')`, over one line or several. */
const ENDPOINT = /endpoint<[^>]+>\(\s*'([A-Z]+)',\s*'([^']+)'/g;

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /(?<!\.test)\.tsx?$/.test(path));

const used = filesBelow(sources).flatMap((path) =>
  Array.from(readFileSync(join(sources, path), 'utf8').matchAll(ENDPOINT), ([, method, route]) => `${method} ${route}`),
);

const documented = new Set(httpRoutes.map(({ method, path }) => `${method} ${path}`));

describe('the console', () => {
  test('calls documented routes only', () => {
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((route) => !documented.has(route))).toEqual([]);
  });
});
