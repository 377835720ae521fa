import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@caribou/testing';
import { FindShell, type ShellRequest } from './find-shell.js';
import { FindShells } from './find-shells.js';

const folder = mkdtempSync(join(tmpdir(), 'caribou-shell-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program that prints its arguments, each with a zero byte at its end. */
const program = join(folder, "the 'program'");
writeFileSync(program, '#!/bin/sh\nprintf \'%s\\000\' "$@"\n');
chmodSync(program, 0o755);

const request = (more: Partial<ShellRequest> = {}): ShellRequest => ({
  directory: folder,
  program,
  args: [],
  timeoutMs: 10_000,
  maxOutputBytes: 1_000_000,
  ...more,
});

const sh = (script: string, more: Partial<ShellRequest> = {}): ShellRequest =>
  request({ program: 'sh', args: ['-c', script], ...more });

const shells: FindShell[] = [];
const newShell = (): FindShell => {
  const shell = new FindShell();
  shells.push(shell);
  return shell;
};
afterEach(() => {
  for (const shell of shells.splice(0)) shell.end();
});

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

describe(FindShell, () => {
  test('arguments arrive as they are, whatever characters they have', async () => {
    const args = [
      "it's",
      '$(touch x) `touch x` $HOME',
      'a\nb',
      '\\',
      '"',
      '-n',
      ' ',
      '*',
      'ä€😀',
      '\u0081\u0088',
      ';&|<>',
    ];
    const answer = await newShell().run(request({ args }));
    expect(
      Buffer.from(answer?.output ?? '', 'latin1')
        .toString('utf8')
        .split('\0')
        .slice(0, -1),
    ).toEqual(args);
    expect(answer?.code).toBe(0);
  });

  test('one shell answers one request after the other, each in its directory and with its exit code', async () => {
    const shell = newShell();
    const held = openSync(folder, 'r');
    try {
      const directory = `/proc/${process.pid}/fd/${held}`;
      expect(await shell.run(sh('pwd -P; exit 3', { directory }))).toEqual({ code: 3, output: `${folder}\n` });
      expect(await shell.run(sh('pwd; cat', { directory: '/' }))).toEqual({ code: 0, output: '/\n' });
      expect(await shell.run(sh('printf "%s" "$PPID"; kill -9 $$'))).toMatchObject({ code: 137 });
    } finally {
      closeSync(held);
    }
  });

  test('arguments and output may be larger than a pipe holds', async () => {
    const args = Array.from({ length: 2_000 }, (_, at) => `${at}`.padStart(40, 'n'));
    const answer = await newShell().run(request({ args }));
    expect(answer?.output).toBe(args.map((arg) => `${arg}\0`).join(''));
  });

  test('a directory or a program that is not there is an exit code', async () => {
    const shell = newShell();
    const missing = join(folder, 'missing');
    expect((await shell.run(request({ directory: missing })))?.code).not.toBe(0);
    expect(await shell.run(request({ program: missing }))).toEqual({ code: 127, output: '' });
  });

  test.each([
    { what: 'is too slow', script: 'echo $$ >pid; sleep 600', limit: { timeoutMs: 300 } },
    { what: 'prints too much', script: 'echo $$ >pid; yes', limit: { maxOutputBytes: 100_000 } },
  ])('a program that $what is killed with its shell', async ({ script, limit }) => {
    const shell = newShell();
    expect(await shell.run(sh(script, limit))).toBeNull();
    expect(shell.isUsable).toBe(false);
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    await waitFor(() => !isAlive(pid), { what: 'the end of the program' });
    expect(await shell.run(request())).toBeNull();
  });

  test('a shell that is killed answers nothing', async () => {
    const shell = newShell();
    expect(await shell.run(sh('kill -9 "$PPID"; sleep 0.05'))).toBeNull();
    expect(shell.isUsable).toBe(false);
  });
});

describe(FindShells, () => {
  test('shells are used again, and as many as there are requests run at once', async () => {
    const all = new FindShells('sh');
    const parents = async (count: number): Promise<readonly string[]> => {
      const script = 'printf "%s" "$PPID"; sleep 0.1';
      const answers = await Promise.all(Array.from({ length: count }, () => all.run(sh(script))));
      return answers.map((answer) => answer?.output ?? '');
    };
    const [first] = await parents(1);
    const three = await parents(3);
    expect(new Set(three).size).toBe(3);
    expect(three).toContain(first);
    const left = await parents(2);
    expect(left.filter((pid) => three.includes(pid))).toHaveLength(2);
  });

  test('a shell that was killed while it was idle is replaced', async () => {
    const all = new FindShells('sh');
    const ask = async (): Promise<string> => (await all.run(sh('printf "%s" "$PPID"')))?.output ?? '';
    const first = await ask();
    execFileSync('kill', ['-9', first]);
    await waitFor(async () => (await ask()) !== '', { what: 'an answer of another shell' });
    expect(await ask()).not.toBe(first);
  });
});
