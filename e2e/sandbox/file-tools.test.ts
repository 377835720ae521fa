import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiClient, lastValues } from '../support/client.js';
import { type Stack, startStack } from '../support/stack.js';
import { workspaceFile } from '../support/threads-on-disk.js';

jest.setTimeout(90_000);

const WORKSPACE = '/mnt/user-data/workspace';
const OUTPUTS = '/mnt/user-data/outputs';

let stack: Stack;
let client: ApiClient;
let threadId: string;

beforeAll(async () => {
  // Refusals for files that were not read are tested in chain.test.ts.
  stack = await startStack({ config: 'read_before_write: {enabled: false}\n' });
  client = stack.client();
});
afterAll(() => stack.stop());

beforeEach(async () => {
  threadId = await client.newThread();
});

/** Makes the model call the tools one after the other; returns the content of each tool message. */
async function answers(calls: readonly (readonly [name: string, args: object])[]): Promise<readonly unknown[]> {
  const script = calls.map(([name, args]) => `#tool ${name} ${JSON.stringify(args)}`).join('\n');
  const frames = await (await client.run(threadId, `${script}\n#say Done.`)).end();
  const messages = lastValues(frames);
  const last = messages.findLastIndex((message) => message.type === 'human');
  return messages
    .slice(last)
    .filter((message) => message.type === 'tool')
    .map((message) => message.content);
}

const stateOf = async (): Promise<Record<string, unknown>> =>
  (await client.call<{ values: Record<string, unknown> }>('GET', `/threads/${threadId}/state`)).body.values;

/** Puts files into the workspace as a command of the thread could. */
function plant(): string {
  const workspace = workspaceFile(stack, threadId, '.');
  mkdirSync(join(workspace, 'src/deep/deeper'), { recursive: true });
  mkdirSync(join(workspace, 'node_modules/left'), { recursive: true });
  writeFileSync(join(workspace, 'notes.md'), 'one\ntwo\ntwo\n');
  writeFileSync(join(workspace, 'src/main.py'), 'import os\nprint("root:x:0")\n');
  writeFileSync(join(workspace, 'src/deep/util.py'), 'def find_me():\n    pass\n');
  writeFileSync(join(workspace, 'src/deep/deeper/data.bin'), Buffer.from([0x72, 0x6f, 0x6f, 0x74, 0, 1, 2]));
  writeFileSync(join(workspace, 'node_modules/left/find_me.py'), 'find_me');
  symlinkSync('/etc', join(workspace, 'etc'));
  symlinkSync('/etc/passwd', join(workspace, 'passwd.md'));
  symlinkSync(stack.homeDir, join(workspace, 'src/home'));
  writeFileSync(join(stack.homeDir, `canary-${threadId}`), 'root: host canary');
  linkSync(join(stack.homeDir, `canary-${threadId}`), join(workspace, 'src/hard.md'));
  return workspace;
}

describe('the file tools over the real stack', () => {
  test('ls, glob and grep see the files of the thread, but follow no link', async () => {
    plant();

    expect(
      await answers([
        ['ls', { description: 'look', path: WORKSPACE }],
        ['ls', { description: 'look', path: OUTPUTS }],
        ['glob', { description: 'find', pattern: '*.py', path: WORKSPACE }],
        ['glob', { description: 'find', pattern: 'src/*', path: WORKSPACE, include_dirs: true, max_results: 2 }],
        ['glob', { description: 'find', pattern: '**/passwd*', path: '/mnt/user-data' }],
        ['grep', { description: 'search', pattern: 'ROOT:', path: WORKSPACE }],
        ['grep', { description: 'search', pattern: 'find_\\w+\\(', path: '/mnt/user-data', glob: '**/*.py' }],
        ['grep', { description: 'search', pattern: '(', path: WORKSPACE, literal: true, max_results: 1 }],
        ['grep', { description: 'search', pattern: '(', path: WORKSPACE }],
        ['grep', { description: 'search', pattern: '^t', path: `${WORKSPACE}/notes.md` }],
      ]),
    ).toEqual([
      [
        `${WORKSPACE}/etc`,
        `${WORKSPACE}/notes.md`,
        `${WORKSPACE}/passwd.md`,
        `${WORKSPACE}/src/`,
        `${WORKSPACE}/src/deep/`,
        `${WORKSPACE}/src/hard.md`,
        `${WORKSPACE}/src/home`,
        `${WORKSPACE}/src/main.py`,
      ].join('\n'),
      '(empty)',
      `Found 2 paths under ${WORKSPACE}\n1. ${WORKSPACE}/src/deep/util.py\n2. ${WORKSPACE}/src/main.py`,
      `Found 2 paths under ${WORKSPACE} (showing the first 2)\n1. ${WORKSPACE}/src/deep/\n2. ${WORKSPACE}/src/hard.md\n` +
        '(There are more. Choose a narrower path or pattern.)',
      'No files matched under /mnt/user-data',
      `Found 1 matches under ${WORKSPACE}\n${WORKSPACE}/src/main.py:2: print("root:x:0")`,
      `Found 1 matches under /mnt/user-data\n${WORKSPACE}/src/deep/util.py:1: def find_me():`,
      `Found 1 matches under ${WORKSPACE} (showing the first 1)\n${WORKSPACE}/src/deep/util.py:1: def find_me():\n` +
        '(There are more. Choose a narrower path or pattern.)',
      'Error: Invalid regex pattern: Invalid regular expression: /(/i: Unterminated group',
      `Found 2 matches under ${WORKSPACE}/notes.md\n${WORKSPACE}/notes.md:2: two\n${WORKSPACE}/notes.md:3: two`,
    ]);
  });

  test('an endless expression delays no other request, and is ended', async () => {
    const workspace = plant();
    writeFileSync(join(workspace, 'trap.txt'), `${'a'.repeat(60)}!\n`);
    const other = await client.newThread();

    const trapped = answers([['grep', { description: 'hang', pattern: '^(a+)+$', path: WORKSPACE, glob: 'trap.txt' }]]);
    const beside = await (await client.run(other, '#tool bash {"command":"echo alive"}\n#say Done.')).end();

    expect(JSON.stringify(beside)).toContain('alive');
    expect(await trapped).toEqual([
      `No matches found under ${WORKSPACE}\n` +
        '(Not everything below this path was searched: there is too much of it. Choose a narrower path or pattern.)',
    ]);
  });

  test('str_replace changes the only match, and reports the number of matches otherwise', async () => {
    plant();
    const path = `${WORKSPACE}/notes.md`;
    const replace = (old_str: string, new_str: string, more: object = {}) =>
      ['str_replace', { description: 'change', path, old_str, new_str, ...more }] as const;

    expect(
      await answers([
        replace('one', 'first\nsecond'),
        replace('two', 'three'),
        replace('two', 'three', { replace_all: true }),
        replace('absent', ''),
        ['str_replace', { description: 'change', path: `${WORKSPACE}/none`, old_str: 'a', new_str: 'b' }],
        ['str_replace', { description: 'change', path: `${WORKSPACE}/passwd.md`, old_str: 'root', new_str: 'x' }],
        ['str_replace', { description: 'change', path: `${WORKSPACE}/src/hard.md`, old_str: 'root', new_str: 'x' }],
        ['read_file', { description: 'read', path }],
      ]),
    ).toEqual([
      'OK (changed lines 1-2)',
      `Error: String to replace occurs 2 times in file: ${path}. Add surrounding lines so that it occurs once, or set replace_all=true.`,
      'OK (2 replacements, changed lines 3-4)',
      `Error: String to replace not found in file: ${path}`,
      `Error: File not found: ${WORKSPACE}/none`,
      `Error: Not a regular file: ${WORKSPACE}/passwd.md`,
      `Error: Not a regular file: ${WORKSPACE}/src/hard.md`,
      'first\nsecond\nthree\nthree\n',
    ]);
  });

  test('parallel changes of one file are all made', async () => {
    const path = `${WORKSPACE}/list`;
    const marks = ['a', 'b', 'c', 'd', 'e', 'f'];
    const edit = (mark: string): string =>
      `tool str_replace ${JSON.stringify({ description: 'x', path, old_str: `<${mark}>`, new_str: mark })}`;
    await answers([['write_file', { description: 'x', path, content: marks.map((mark) => `<${mark}>`).join('\n') }]]);

    await (await client.run(threadId, `#${marks.map(edit).join('\n#+')}\n#say Done.`)).end();

    expect(await answers([['read_file', { description: 'x', path }]])).toEqual(['a\nb\nc\nd\ne\nf']);
  });

  test('present_files adds to the artifacts, all of a call or none', async () => {
    const content = 'x';
    const made = await answers([
      ['write_file', { description: 'x', path: `${OUTPUTS}/a.txt`, content }],
      ['write_file', { description: 'x', path: `${OUTPUTS}/b/c.txt`, content }],
      ['present_files', { filepaths: [`${OUTPUTS}/a.txt`, `${OUTPUTS}/none.txt`] }],
      ['present_files', { filepaths: [`${OUTPUTS}/a.txt`, `${WORKSPACE}/x`] }],
      ['present_files', { filepaths: [`${OUTPUTS}/../workspace/x`] }],
      ['present_files', { filepaths: [`${OUTPUTS}/b`] }],
    ]);
    expect(made.slice(2)).toEqual([
      `Error: File not found: ${OUTPUTS}/none.txt`,
      `Error: Only files in ${OUTPUTS} can be presented: ${WORKSPACE}/x`,
      `Error: Only files in ${OUTPUTS} can be presented: ${OUTPUTS}/../workspace/x`,
      `Error: Path is a directory, not a file: ${OUTPUTS}/b`,
    ]);
    expect((await stateOf())['artifacts'] ?? []).toEqual([]);

    expect(
      await answers([
        ['present_files', { filepaths: [`${OUTPUTS}//b/./c.txt`] }],
        ['present_files', { filepaths: [`${OUTPUTS}/a.txt`, `${OUTPUTS}/b/c.txt`] }],
      ]),
    ).toEqual(['Successfully presented files', 'Successfully presented files']);
    expect((await stateOf())['artifacts']).toEqual([`${OUTPUTS}/b/c.txt`, `${OUTPUTS}/a.txt`]);
  });

  test('no path leads to the host, and no answer names a path of it', async () => {
    plant();
    const paths = [
      ...['/etc', '/', `${WORKSPACE}/../../..`, `${WORKSPACE}/etc`, `${WORKSPACE}/src/home`, `${WORKSPACE}/etc/ssl`],
      ...['/mnt/user-data-evil', `${WORKSPACE}/none`, `${WORKSPACE}/notes.md`, 'workspace', `/proc/self/cwd`],
    ];
    const calls = paths.flatMap((path) => [
      ['ls', { description: 'x', path }] as const,
      ['glob', { description: 'x', path, pattern: '**' }] as const,
      ['grep', { description: 'x', path, pattern: 'root:' }] as const,
    ]);

    const results = await answers(calls);

    const outside = (path: string): string =>
      `Error: Path is outside the allowed directories (/mnt/user-data/workspace, /mnt/user-data/uploads, /mnt/user-data/outputs): ${path}`;
    const no = (path: string): string => `Error: Path is not a directory: ${path}`;
    const expected = paths.map((path, index) => {
      if (path.endsWith('/none')) return `Error: Directory not found: ${path}`;
      return (index >= 3 && index <= 5) || path.endsWith('notes.md') ? no(path) : outside(path);
    });
    const searched = (index: number, text: string): string =>
      paths[index]?.endsWith('notes.md') === true ? `No matches found under ${WORKSPACE}/notes.md` : text;
    expect(results).toEqual(expected.flatMap((text, index) => [text, text, searched(index, text)]));
    expect(JSON.stringify(results)).not.toContain(stack.homeDir);
  });
});
