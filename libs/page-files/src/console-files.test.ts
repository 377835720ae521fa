import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConsoleFiles } from './index.js';

describe('ConsoleFiles', () => {
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caribou-console-'));
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'index.html'), '<p>one</p>');
    writeFileSync(join(folder, 'assets/a.js'), 'a()');
    writeFileSync(join(folder, 'assets/a.js.br'), 'brotli');
    writeFileSync(join(folder, 'assets/a.js.gz'), 'gzip');
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('gives a file with its type and its compressed forms, which are no files of their own', async () => {
    const files = new ConsoleFiles(folder);
    const script = await files.get('assets/a.js');

    expect(script?.contentType).toBe('text/javascript; charset=utf-8');
    expect(script?.content.toString()).toBe('a()');
    expect([...(script?.encoded ?? [])].map(([encoding, bytes]) => [encoding, bytes.toString()])).toEqual([
      ['br', 'brotli'],
      ['gzip', 'gzip'],
    ]);
    expect(await files.get('assets/a.js.br')).toBeUndefined();
    expect((await files.get('index.html'))?.encoded.size).toBe(0);
  });

  test('the folder is read once: a later build does not mix two versions', async () => {
    const files = new ConsoleFiles(folder);
    const before = await files.get('index.html');
    rmSync(join(folder, 'assets'), { recursive: true });
    writeFileSync(join(folder, 'index.html'), '<p>two</p>');

    expect((await files.get('index.html'))?.content.toString()).toBe('<p>one</p>');
    expect((await files.get('assets/a.js'))?.content.toString()).toBe('a()');
    expect((await new ConsoleFiles(folder).get('index.html'))?.hash).not.toBe(before?.hash);
  });

  test.each([
    '',
    '.',
    '..',
    'assets',
    'assets/',
    '../package.json',
    'assets/../index.html',
    '/index.html',
    'constructor',
  ])('has no file %p', async (name) => {
    expect(await new ConsoleFiles(join(folder, 'assets', '..')).get(name)).toBeUndefined();
  });

  test('a link is no file', async () => {
    symlinkSync('/etc/hostname', join(folder, 'assets/link.js'));

    expect(await new ConsoleFiles(folder).get('assets/link.js')).toBeUndefined();
  });

  test('without a build there are no files, until there is one', async () => {
    const files = new ConsoleFiles(join(folder, 'later'));

    expect(await files.get('index.html')).toBeUndefined();
    mkdirSync(join(folder, 'later'));
    writeFileSync(join(folder, 'later/index.html'), 'here');
    expect((await files.get('index.html'))?.content.toString()).toBe('here');
  });
});
