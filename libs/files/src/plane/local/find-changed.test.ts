import childProcess, { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { DATA_DIRECTORIES } from '@caribou/core';
import { exchangeLoop } from '../../testing/exchange-loop.js';
import { makeChange, randomChange } from '../../testing/random-changes.js';
import { divideTree } from './divide-tree.js';
import { findChanged } from './find-changed.js';
import { LocalTree } from './local-tree.js';
import type { Stamp } from './stamps.js';
import { emptySighting, walkTree } from './tree-walk.js';

const asRoot = process.getuid?.() === 0 ? test : test.skip;

let folder: string;
let userData: string;
let local: LocalTree;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caribou-find-'));
  userData = join(folder, 'user-data');
  for (const name of DATA_DIRECTORIES) mkdirSync(join(userData, name), { recursive: true });
  local = new LocalTree(userData);
});
afterEach(() => {
  local.close();
  rmSync(folder, { recursive: true, force: true });
});

const write = (path: string): void => {
  mkdirSync(join(userData, path, '..'), { recursive: true });
  writeFileSync(join(userData, path), path);
};

async function walked(): Promise<ReadonlyMap<string, Stamp>> {
  const sighting = emptySighting();
  await walkTree(local, sighting);
  return sighting.found;
}

/** Paths of the starting points of each process. */
async function sharesOf(minShare = 0): Promise<readonly (readonly string[])[]> {
  const { shares, close } = divideTree(local, await walked(), minShare);
  close();
  return shares.map((share) => share.map(({ directory, name }) => join(directory.path, name)));
}

const everything = { sinceMs: 0, minShare: 0 };

describe('findChanged', () => {
  asRoot(
    'two processes find what a walk finds, in any tree',
    async () => {
      const changes = fc.array(randomChange, { minLength: 5, maxLength: 60 });
      let shared = 0;
      await fc.assert(
        fc.asyncProperty(changes, async (made) => {
          for (const name of DATA_DIRECTORIES) {
            rmSync(join(userData, name), { recursive: true });
            mkdirSync(join(userData, name));
          }
          local.forget();
          const roots = DATA_DIRECTORIES.map((name) => join(userData, name));
          for (const change of made) makeChange(roots, change);
          const known = await walked();
          if ((await sharesOf()).length === 2) shared += 1;
          const found = await findChanged(local, known, everything);
          expect(found).toEqual(known);
        }),
        { numRuns: 60 },
      );
      expect(shared).toBeGreaterThan(20);
    },
    60_000,
  );

  test('only what has changed since is found, beside directories whose entries are shared out', async () => {
    for (let each = 0; each < 40; each += 1) write(`workspace/app/modules/p${each}/index.js`);
    const known = await walked();
    const sinceMs = Math.max(...[...known.values()].map(({ ctimeMs }) => ctimeMs)) + 1;
    writeFileSync(join(userData, 'workspace/app/modules/p7/index.js'), 'changed');
    while ((local.stamp('workspace/app/modules/p7/index.js')?.ctimeMs ?? 0) <= sinceMs) {
      writeFileSync(join(userData, 'workspace/app/modules/p7/index.js'), 'changed');
    }
    const found = await findChanged(local, known, { sinceMs, minShare: 0 });
    const opened = ['workspace', 'workspace/app', 'workspace/app/modules'];
    expect(new Set(found?.keys())).toEqual(new Set([...opened, 'workspace/app/modules/p7/index.js']));
  });

  test('names that lead outside are never found while directories and links are exchanged', async () => {
    for (let each = 0; each < 30; each += 1) {
      write(`workspace/a/inner/d${each}/mine`);
      mkdirSync(join(folder, `outside/inner/d${each}`), { recursive: true });
      writeFileSync(join(folder, `outside/inner/d${each}/secret`), '');
    }
    const known = await walked();
    symlinkSync(join(folder, 'outside'), join(userData, 'workspace/b'));
    const swapper = spawn(
      'python3',
      ['-c', exchangeLoop, ...['a', 'b'].map((name) => join(userData, 'workspace', name))],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    try {
      await new Promise((resolve) => swapper.stdout.once('data', resolve));
      let shared = 0;
      for (let round = 0; round < 60; round += 1) {
        local.forget();
        const found = await findChanged(local, known, everything);
        if (found?.has('workspace/a/inner/d3/mine') === true) shared += 1;
        expect([...(found?.keys() ?? [])].filter((path) => path.includes('secret'))).toEqual([]);
      }
      expect(shared).toBeGreaterThan(0);
    } finally {
      swapper.kill('SIGKILL');
    }
  }, 60_000);

  test.each([
    { how: 'does not know the options', script: 'exit 1' },
    { how: 'ends early', script: 'exec find "$@" | head -c 20' },
    { how: 'is killed', script: 'find "$@"; kill -9 $$' },
  ])('a program that $how is none', async ({ script }) => {
    for (let each = 0; each < 10; each += 1) write(`workspace/d${each}/f`);
    const program = join(folder, 'other-find');
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
    const known = await walked();
    const spy = jest
      .spyOn(childProcess, 'spawn')
      .mockImplementationOnce(((_: string, args: string[], options: object) => spawn(program, args, options)) as never);
    expect(await findChanged(local, known, everything)).toBeNull();
    spy.mockRestore();
  });
});

describe('divideTree', () => {
  test('directories below each other are divided where they branch', async () => {
    for (let each = 0; each < 100; each += 1) write(`workspace/${'d/'.repeat(20)}e${each}/f`);
    const [left = [], right = [], ...none] = await sharesOf();
    expect(none).toEqual([]);
    expect([left.length, right.length]).toEqual([51, 51]);
  });

  test('what is beside a large directory is in one of the shares', async () => {
    for (let each = 0; each < 30; each += 1) write(`workspace/app/modules/p${each}/f`);
    write('workspace/notes');
    write('uploads/report');
    const paths = (await sharesOf()).flat();
    expect(paths).toEqual(
      expect.arrayContaining(['uploads', 'outputs', 'workspace/notes', 'workspace/app/modules/p7']),
    );
    expect(new Set(paths).size).toBe(paths.length);
  });

  test.each([
    { what: 'a tree of few entries', files: 30, name: 'd/f', minShare: 1_000 },
    { what: 'a directory with very many names', files: 2_100, name: 'f', minShare: 100 },
  ])('$what is not divided', async ({ files, name, minShare }) => {
    for (let each = 0; each < files; each += 1) write(`workspace/${each}${name}`);
    expect(await sharesOf(minShare)).toEqual([[...DATA_DIRECTORIES]]);
  });

  test('a directory with a name that is no text stays whole', async () => {
    for (let each = 0; each < 10; each += 1) write(`workspace/large/d${each}/f`);
    writeFileSync(Buffer.concat([Buffer.from(join(userData, 'workspace/large/')), Buffer.from([0xff])]), '');
    expect((await sharesOf()).flat()).toContain('workspace/large');
  });

  test('a directory that was replaced by a link is not opened', async () => {
    for (let each = 0; each < 10; each += 1) write(`workspace/large/d${each}/f`);
    const known = await walked();
    renameSync(join(userData, 'workspace/large'), join(folder, 'outside'));
    symlinkSync(join(folder, 'outside'), join(userData, 'workspace/large'));
    local.forget();
    const found = await findChanged(local, known, everything);
    expect(new Set(found?.keys())).toEqual(new Set([...DATA_DIRECTORIES, 'workspace/large']));
  });
});
