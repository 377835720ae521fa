import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ThreadFiles } from '@caribou/files';
import type { CommandResult, SandboxSpec, SandboxDriver, SandboxSettings } from '@caribou/sandbox';
import { processesWith as processesOfMachine, type ProcessLookup } from '../sandboxes/sandbox-processes.js';
import { waitFor } from '../util/wait-for.js';
import { type SandboxTraits, ON_MACHINE_KERNEL } from './sandbox-traits.js';

/** What the test of a driver provides. */
export interface SandboxDriverUnderTest {
  /**
   * A driver that has passed its probe, with settings by `testSandboxSettings`, at most 256 MiB of
   * memory, 64 processes, 8 MiB of /tmp, 16 MiB for a file and 2 MiB of output. Called again for a second manager's
   * driver. With `limits`, a driver that bounds files itself takes these.
   */
  make(homeDir: string, limits?: Partial<SandboxSettings['limits']>): Promise<SandboxDriver>;
  /** Host-side access to the same data. */
  files(homeDir: string): ThreadFiles;
  /** The user commands run as. */
  readonly uid: number;
  /** How its sandboxes differ from those on the host's kernel, if they do. */
  readonly traits?: SandboxTraits;
  /** Lists the processes of sandboxes; default: from the process list of the host. */
  readonly processesWith?: ProcessLookup;
}

let marks = 0;
/** A number of seconds that only one test sleeps: it identifies a process in the host's process list. */
export const uniqueSleep = (): string => {
  marks += 1;
  return `86${process.pid}${marks}`;
};

/** One command that makes all attempts, each in a shell of its own; `succeededOf` reads its output. */
export const allOf = (attempts: readonly string[]): string =>
  attempts.map((attempt) => `(${attempt}\n) </dev/null >/dev/null 2>&1; echo "code $?"`).join('\n');

/** The attempts that ended with 0. @throws Error unless each of them ended */
export function succeededOf(attempts: readonly string[], { stdout }: CommandResult): string[] {
  const codes = [...stdout.matchAll(/^code (\d+)$/gm)].map(([, code]) => code);
  if (codes.length !== attempts.length)
    throw new Error(`of ${attempts.length} attempts ${codes.length} ended: ${stdout}`);
  return attempts.filter((_, at) => codes[at] === '0');
}

/** The conformance suite of every SandboxDriver. */
export function describeSandboxDriver(name: string, underTest: SandboxDriverUnderTest): void {
  const { traits = ON_MACHINE_KERNEL, processesWith = processesOfMachine } = underTest;
  describe(`${name} as a SandboxDriver`, () => {
    let home: string;
    let driver: SandboxDriver;
    const sandbox: SandboxSpec = {
      sandboxId: `caribou-test-${process.pid}`,
      managerId: 'm1',
      userId: 'default',
      threadId: 't1',
    };
    const other: SandboxSpec = {
      sandboxId: `caribou-test-${process.pid}-b`,
      managerId: 'm1',
      userId: 'default',
      threadId: 't2',
    };

    const files = (): ThreadFiles => underTest.files(home);
    const hostFile = (name: string): string => join(files().hostPath(sandbox, 'workspace'), name);
    const run = (
      command: string,
      options: { timeoutMs?: number; signal?: AbortSignal; maxOutputBytes?: number; in?: SandboxSpec } = {},
    ): Promise<CommandResult> =>
      driver.exec(
        options.in ?? sandbox,
        { command, timeoutMs: options.timeoutMs ?? 20_000, maxOutputBytes: options.maxOutputBytes ?? 16_384 },
        options.signal ?? new AbortController().signal,
      );
    const outputOf = async (command: string): Promise<string> => (await run(command)).stdout.trim();

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'caribou-sandbox-'));
      mkdirSync(join(home, 'skills'));
      writeFileSync(join(home, 'skills', 'SKILL.md'), 'a skill');
      process.env['CARIBOU_CANARY_SECRET'] = 'canary-in-the-environment';
      driver = await underTest.make(home);
      await driver.create(sandbox, { fresh: true });
      await driver.create(other, { fresh: true });
    }, 60_000);
    afterAll(async () => {
      delete process.env['CARIBOU_CANARY_SECRET'];
      await driver.remove(sandbox);
      await driver.remove(other);
      rmSync(home, { recursive: true, force: true });
    }, 60_000);

    test('runs a command in the workspace and separates exit code, stdout and stderr', async () => {
      const result = await run('pwd; echo problem >&2; exit 3');

      expect(result).toMatchObject({
        exitCode: 3,
        stdout: '/mnt/user-data/workspace\n',
        stderr: 'problem\n',
        truncatedBytes: 0,
        endedBy: 'exit',
      });
    });

    test('gives the command an empty standard input and no descriptor of its parent', async () => {
      const open = await outputOf(
        'cat; for fd in /proc/$$/fd/*; do case "$fd" in */[012]) ;; *) readlink "$fd" ;; esac; done',
      );

      expect(
        open.split('\n').filter((target) => target !== '' && target !== '/dev/null' && !target.startsWith('/proc/')),
      ).toEqual([]);
    });

    test('runs as the dedicated user, without capabilities or new privileges, behind a system call filter (D1)', async () => {
      const status = await outputOf(
        'id -u; grep -E "^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):" /proc/self/status | tr -d "\\t "',
      );

      const [uid = '', ...confinement] = status.split('\n');
      expect([String(underTest.uid), ...(traits.mayHaveOwnUser && Number(uid) > 1e9 ? [uid] : [])]).toContain(uid);
      expect(confinement).toEqual(traits.confinement);
    });

    test('shows nothing of the environment of the process that launches it (D1)', async () => {
      const names = (
        await outputOf('env | cut -d= -f1 | grep -v -E "^(_|SHLVL|PWD|OLDPWD|HOSTNAME)$" | sort | tr "\\n" " "')
      ).trim();
      const everywhere = await outputOf('cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\\0" "\\n"');

      expect(names.split(' ')).toEqual(['HOME', 'LANG', 'PATH', 'TERM', 'TMPDIR', 'USER']);
      expect(everywhere).not.toContain('canary');
      expect(everywhere).not.toContain(home);
    });

    test('has no network but its own loopback, or an interface that leads nowhere (D1)', async () => {
      const interfaces = await outputOf('tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " " | sort');
      expect(interfaces.split('\n')).toEqual(traits.interfaces);
    });

    test('cannot make namespaces, mount, or change the system (D1, D2)', async () => {
      const attempts = ['true', ...traits.systemAttempts];

      expect(succeededOf(attempts, await run(allOf(attempts)))).toEqual(['true']);
    });

    test('sees the data of its own thread, shared with the host, and of no other (D2)', async () => {
      await files().replace(other, '/mnt/user-data/workspace/of-another-thread', Buffer.from('foreign'));
      await files().replace(sandbox, '/mnt/user-data/uploads/in.txt', Buffer.from('in'));

      const result = await run(
        'cat ../uploads/in.txt > ../outputs/out.txt; mkdir -p sub; echo w > sub/w; ls /mnt/user-data; find / -name of-another-thread 2>/dev/null',
      );

      expect(result.stdout.trim().split('\n')).toEqual(['outputs', 'uploads', 'workspace']);
      const handle = await files().openFile(sandbox, '/mnt/user-data/outputs/out.txt');
      expect(await handle.readFile('utf8')).toBe('in');
      await handle.close();
    });

    test('has the skills read-only', async () => {
      const result = await run('cat /mnt/skills/SKILL.md; touch /mnt/skills/x');

      expect(result.stdout).toBe('a skill');
      expect(result.exitCode).not.toBe(0);
    });

    test('has other skills once others are switched on; a sandbox that cannot change is created again, and no command ran', async () => {
      mkdirSync(join(home, 'other-skills'));
      writeFileSync(join(home, 'other-skills', 'SKILL.md'), 'another');
      const command = 'cat /mnt/skills/SKILL.md; echo ran >> count; cat count';
      const result = await run(command).catch(async (error: unknown) => {
        if (!(error instanceof Error && error.name === 'SandboxGoneError')) throw error;
        await driver.create(sandbox, { fresh: false });
        return run(command);
      });
      rmSync(join(home, 'other-skills'), { recursive: true });
      await driver.create(sandbox, { fresh: false });

      expect(result).toMatchObject({ stdout: 'anotherran\n', exitCode: 0 });
      expect((await run('cat /mnt/skills/SKILL.md')).stdout).toBe('a skill');
    });

    test('ends everything at the time-out, daemons as well (D3)', async () => {
      const mark = uniqueSleep();

      const result = await run(
        `setsid sleep ${mark} & (trap "" TERM HUP; sleep ${mark}) & echo before; sleep ${mark}`,
        { timeoutMs: 1500 },
      );

      expect(result).toMatchObject({ endedBy: 'timeout', exitCode: 137, stdout: 'before\n' });
      expect(await processesWith(mark)).toEqual([]);
    });

    test('ends everything when the signal aborts, before or during the command (D3)', async () => {
      const mark = uniqueSleep();
      const during = new AbortController();
      const running = run(`setsid sleep ${mark} & sleep ${mark}`, { signal: during.signal });
      await waitFor(async () => (await processesWith(mark)).length >= 2, { what: 'the processes of the command' });
      during.abort();

      expect(await running).toMatchObject({ endedBy: 'cancel' });
      expect(await processesWith(mark)).toEqual([]);
      expect(await run(`sleep ${mark}`, { signal: AbortSignal.abort() })).toMatchObject({ endedBy: 'cancel' });
      expect(await processesWith(mark)).toEqual([]);
    });

    test('returns at the end of the command and leaves no background process (D3)', async () => {
      const mark = uniqueSleep();

      const result = await run(`setsid sleep ${mark} >/dev/null 2>&1 & sleep ${mark} & echo done`);

      expect(result).toMatchObject({ exitCode: 0, stdout: 'done\n', endedBy: 'exit' });
      expect(await processesWith(mark)).toEqual([]);
    });

    test('leaves nothing when a command kills the shell above it (D3)', async () => {
      const mark = uniqueSleep();

      await run(`setsid sleep ${mark} >/dev/null 2>&1 & kill -9 $PPID; kill -9 $$`);

      expect(await processesWith(mark)).toEqual([]);
    });

    test('survives a fork bomb: it ends at the time-out and the next command runs', async () => {
      const bomb = await run('bomb() { bomb | bomb & }; bomb; sleep 60', { timeoutMs: 2000 });

      expect(['timeout', 'exit', 'output']).toContain(bomb.endedBy);
      expect(await outputOf('echo alive')).toBe('alive');
    }, 60_000);

    test('returns head and tail of a long output and counts the rest', async () => {
      const result = await run('i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done', {
        maxOutputBytes: 2048,
      });

      expect(result.stdout).toMatch(/^line 0\n[^]*bytes left out[^]*line 2999\n$/);
      expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(2048);
      expect(result.truncatedBytes).toBeGreaterThan(20_000);
    });

    test('reports the output of a command while it runs', async () => {
      let seen = '';
      const heard = new AbortController();
      const onOutput = (stream: 'out' | 'err', chunk: Buffer): void => {
        seen += `${stream}:${chunk.toString()}`;
        // The command ends only because its output was received before.
        if (!seen.includes('err:begun')) return;
        if (traits.sharesFiles) writeFileSync(hostFile('heard'), '');
        else heard.abort();
      };
      const command = 'echo begun >&2; until [ -e heard ]; do sleep 0.05; done; echo over; rm -f heard';
      const result = await driver.exec(
        sandbox,
        { command, timeoutMs: 20_000, maxOutputBytes: 1024, onOutput },
        heard.signal,
      );

      const ended = traits.sharesFiles ? { endedBy: 'exit', stdout: 'over\n' } : { endedBy: 'cancel', stdout: '' };
      expect(result).toMatchObject({ ...ended, stderr: 'begun\n' });
      expect(seen).toBe(traits.sharesFiles ? 'err:begun\nout:over\n' : 'err:begun\n');
    });

    test('ends a command that writes without end', async () => {
      const mark = uniqueSleep();
      const result = await run(`yes ${mark}`, { maxOutputBytes: 1024 });

      expect(result.endedBy).toBe('output');
      expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(1024);
      expect(await processesWith(mark)).toEqual([]);
    });

    test('bounds memory and the size of /tmp', async () => {
      expect((await run('dd if=/dev/zero of=/dev/null bs=512M count=1')).exitCode).not.toBe(0);
      expect((await run('head -c 20000000 /dev/zero > /tmp/big')).exitCode).not.toBe(0);
    });

    test('follows no link that a command left when it runs the next one', async () => {
      const victim = join(home, 'victim');
      await run(
        `rm -rf * ; for name in sub uploads mnt .bwrap; do ln -s /oldroot${victim} $name; ln -s ${victim} $name-b; done; ln -s /etc/hostname link`,
      );
      await driver.create(sandbox, { fresh: false });

      expect(await outputOf('echo next')).toBe('next');
      expect(existsSync(victim)).toBe(false);
      await run('rm -rf *');
    });

    test('passes the command on unchanged, whatever it contains', async () => {
      const text = `a'b"c$HOME\\n; $(id) \`id\` é😀 --\n%s`;

      expect((await run(`cat <<'END_OF_TEXT'\n${text}\nEND_OF_TEXT`)).stdout).toBe(`${text}\n`);
      expect((await run('-c')).exitCode).not.toBe(0);
    });

    test('refuses a command that no kernel accepts', async () => {
      await expect(run(`: ${'x'.repeat(130_000)}`)).rejects.toMatchObject({ code: 'invalid_request' });
    });

    test('a fresh sandbox ends processes of an earlier manager and does not change the files', async () => {
      const mark = uniqueSleep();
      const successor = await underTest.make(home);
      // Without shared files those of a command that is cut off end with its sandbox.
      if (!traits.sharesFiles) await run('echo kept > kept');
      const left = run(`echo kept > kept; sleep ${mark}`).catch((error: unknown) => error);
      await waitFor(async () => (await processesWith(mark)).length > 0 && existsSync(hostFile('kept')), {
        what: 'the command',
      });

      await successor.create({ ...sandbox, managerId: 'm2' }, { fresh: true });

      expect(await processesWith(mark)).toEqual([]);
      await left;
      const command = { command: 'cat kept', timeoutMs: 10_000, maxOutputBytes: 1024 };
      expect(
        await successor.exec({ ...sandbox, managerId: 'm2' }, command, new AbortController().signal),
      ).toMatchObject({
        stdout: 'kept\n',
      });
    }, 30_000);

    test('can be removed twice and created again, with its files', async () => {
      await driver.create(sandbox, { fresh: false });
      await run('echo still > here');

      await driver.remove(sandbox);
      await driver.remove(sandbox);
      await driver.create(sandbox, { fresh: false });

      expect(await outputOf('cat here')).toBe('still');
    }, 30_000);
  });
}
