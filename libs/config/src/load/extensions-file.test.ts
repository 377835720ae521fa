import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extensionsFile } from './extensions-file.js';

describe(extensionsFile, () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caribou-extensions-'));
    path = join(folder, 'extensions_config.json');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Saves as editors do: a new file replaces the old one. */
  const save = (text: string): void => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };

  test('no file is an empty one, and the file is read again when it changed', async () => {
    const file = extensionsFile(path);
    expect(await file.read()).toEqual({ content: {} });
    save('{"mcpServers":{"a":{}}}');
    const first = await file.read();
    expect(first).toEqual({ content: { mcpServers: { a: {} } } });
    expect(await file.read()).toBe(first);
    save('{"mcpServers":{"b":{}}}');
    expect(await file.read()).toEqual({ content: { mcpServers: { b: {} } } });
    rmSync(path);
    expect(await file.read()).toEqual({ content: {} });
  });

  test('a file that cannot be used leaves what was read before, and says why without its text', async () => {
    const file = extensionsFile(path);
    save('{"skills":{}}');
    await file.read();
    for (const [text, problem] of [
      ['{"token": "s3cret', 'is not valid JSON'],
      ['[]', 'must hold an object'],
      [' '.repeat(1024 * 1024 + 1), 'must be a file of at most 1048576 bytes'],
    ] as const) {
      save(text);
      expect(await file.read()).toEqual({ content: { skills: {} }, problem: `${path}: ${problem}` });
    }
    save('{}');
    expect(await file.read()).toEqual({ content: {} });
  });

  test('a folder instead of the file is a problem', async () => {
    const { content, problem } = await extensionsFile(folder).read();
    expect(content).toEqual({});
    expect(problem).toContain('EISDIR');
  });
});
