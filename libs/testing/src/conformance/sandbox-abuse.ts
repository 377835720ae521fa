import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { processesWith as processesOfMachine } from '../sandboxes/sandbox-processes.js';
import { ON_MACHINE_KERNEL } from './sandbox-traits.js';
import { type RawCall, rawCallProgram } from './raw-system-call.js';
import { type Canary, openCanary } from './sandbox-canary.js';
import { allOf, type SandboxDriverUnderTest, succeededOf, uniqueSleep } from './sandbox-driver.js';

const MiB = 1024 * 1024;

/** Prints `in` when a server answers at an address, else the reason; uses bash's own /dev/tcp, or nc. */
const knock = (host: string, port: number): string =>
  `if [ -x /bin/bash ]; then timeout 3 /bin/bash -c 'exec 3<>/dev/tcp/${host}/${port} && echo in && cat <&3'; ` +
  `else timeout 3 nc -w 2 ${host} ${port} </dev/null && echo in; fi 2>&1 || echo "out $?"`;

const WRITE_NEW = 0o101;
const TMPFILE = 0o20200002;
const EMPTY_PARAMETERS = '\0'.repeat(128);
/** struct open_how: flags, mode 04755, no restriction. */
const SET_ID_OPEN = 'A\0\0\0\0\0\0\0\xed\t\0\0\0\0\0\0\0\0\0\0\0\0\0\0';
const AT_CWD = -100;

const raw = (nr: number, ...args: RawCall['args']): RawCall => ({ entry: 'syscall', nr, args });

/** Ways to a set-id file on x86_64. */
const setIdCalls: readonly RawCall[] = [
  raw(90, 'su', 0o6755),
  raw(90, 'su', 0o4700),
  raw(90, 'su', 0o2755),
  raw(91, 0, 0o4755),
  raw(268, AT_CWD, 'su', 0o4755),
  raw(452, AT_CWD, 'su', 0o4755, 0),
  raw(2, 'by-open', WRITE_NEW, 0o4755),
  raw(257, AT_CWD, 'by-openat', WRITE_NEW, 0o2755),
  raw(257, AT_CWD, '.', TMPFILE, 0o4755),
  raw(85, 'by-creat', 0o6755),
  raw(133, 'by-mknod', 0o104755, 0),
  raw(259, AT_CWD, 'by-mknodat', 0o104755, 0),
  raw(437, AT_CWD, 'by-openat2', SET_ID_OPEN, SET_ID_OPEN.length),
  raw(0x40000000 + 90, 'su', 0o4755),
  { entry: 'int80', nr: 15, args: ['su', 0o4755] },
];
/** The same calls as programs make them; the mode of an open that makes nothing is whatever the register holds. */
const plainCalls: readonly RawCall[] = [
  raw(90, 'su', 0o1755),
  raw(2, 'by-open', WRITE_NEW, 0o755),
  raw(2, 'su', 0, 0o7777),
  raw(257, AT_CWD, 'su', 0, 0o7777),
  raw(85, 'by-creat', 0o644),
];
/** An AF_VSOCK socket; getpid as i386 and as x32. */
const foreignCalls: readonly RawCall[] = [
  raw(41, 40, 1, 0),
  { entry: 'int80', nr: 20, args: [] },
  raw(0x40000000 + 39),
];
/** io_uring_setup and a new user namespace, on the machine's kernel. */
const machineCalls: readonly RawCall[] = [raw(425, 8, EMPTY_PARAMETERS), raw(272, 0x10000000)];

/**
 * The exit codes of programs that make the calls: 0 for a call that was not refused by an error or the end of its
 * process.
 */
async function outcomesOf(canary: Canary, calls: readonly RawCall[]): Promise<readonly [RawCall, number][]> {
  for (const [at, call] of calls.entries()) {
    const program = canary.hostFile(`workspace/raw${at}`);
    writeFileSync(program, rawCallProgram(call));
    chmodSync(program, 0o755);
  }
  const each = calls.map((_, at) => `./raw${at} <su >/dev/null; echo "code $?"`).join('\n');
  const { stdout } = await canary.run(`touch su; (${each}) 2>/dev/null`);
  const codes = [...stdout.matchAll(/^code (\d+)$/gm)].map(([, code]) => Number(code));
  expect(codes).toHaveLength(calls.length);
  return calls.map((call, at): [RawCall, number] => [call, codes[at] ?? 0]);
}

/** Tests attacks of a command on the host, its services and other threads, for every driver. */
export function describeSandboxAbuse(name: string, underTest: SandboxDriverUnderTest): void {
  const { traits = ON_MACHINE_KERNEL, processesWith = processesOfMachine } = underTest;
  describe(`${name} under abuse`, () => {
    let canary: Canary;
    beforeAll(async () => {
      canary = await openCanary(underTest);
    }, 60_000);
    afterEach(() => canary.expectUntouched(), 90_000);
    afterAll(() => canary.close(), 60_000);

    test('a fork bomb takes no process from another thread', async () => {
      const bomb = await canary.run('bomb() { bomb | bomb & }; bomb; sleep 60', { timeoutMs: 2_000 });

      expect(['timeout', 'exit', 'output']).toContain(bomb.endedBy);
    }, 60_000);

    test('processes that wait out of sight of their shell are ended with it', async () => {
      const mark = uniqueSleep();
      const hidden = `(setsid sh -c '(trap "" HUP TERM INT; setsid sleep ${mark} &) &' </dev/null >/dev/null 2>&1 &)`;

      const result = await canary.run(
        `${hidden}; n=0; until pgrep -x sleep >/dev/null || [ $n -ge 200 ]; do read -t 0.05 _; n=$((n+1)); done; echo over`,
      );

      expect(result).toMatchObject({ stdout: 'over\n', endedBy: 'exit' });
      expect(await processesWith(mark)).toEqual([]);
    });

    test('no file grows without end: written, sparse, or in memory', async () => {
      const tries = ['yes > fill', 'truncate -s 10G sparse', 'dd if=/dev/zero of=far bs=1 count=1 seek=10000000000'];
      expect(succeededOf(tries, await canary.run(allOf(tries)))).toEqual([]);
      expect((await canary.run('yes > /dev/shm/fill; yes > /tmp/fill; yes > /fill; yes > /dev/fill')).endedBy).toBe(
        'exit',
      );

      const sizes = readdirSync(canary.hostFile('workspace')).map(
        (file) => statSync(canary.hostFile(`workspace/${file}`)).size,
      );
      expect(Math.max(0, ...sizes)).toBeLessThanOrEqual(16 * MiB);
      await canary.run('rm -f fill sparse far');
    }, 60_000);

    const onlyFiltered = traits.filtersSystemCalls ? test : test.skip;
    onlyFiltered('no command makes a set-id file: by no mode, in no directory, by no entry of the kernel', async () => {
      const shell = '$(readlink -f /bin/sh)';
      await canary.run(
        `for d in . ../uploads ../outputs; do cp "${shell}" $d/su; chmod 6755 $d/su; chmod g+s $d/su; done`,
      );
      await canary.run('install -m 4755 su installed; mkdir -m 6777 made; (umask 0; tar cf - su | tar xpf - -C made)');
      if (process.arch === 'x64') {
        expect((await outcomesOf(canary, setIdCalls)).filter(([, code]) => code === 0)).toEqual([]);
        expect((await outcomesOf(canary, plainCalls)).filter(([, code]) => code !== 0)).toEqual([]);
      }

      const setId = execFileSync('find', [canary.hostFile('.'), '-perm', '/6000'], { encoding: 'utf8' });
      expect(setId).toBe('');
      const { stdout } = await canary.run(
        'chmod 4755 /bin/sh /usr/bin/env; find / -xdev -user 0 -perm -2 -type f 2>&-',
      );
      expect(stdout).toBe('');
    });

    onlyFiltered('no program in the memory directories runs with set-id bits or opens devices', async () => {
      const { stdout } = await canary.run(
        'awk \'$5 == "/tmp" || $5 == "/dev/shm" { print $5, $6 }\' /proc/self/mountinfo',
      );
      const mounts = stdout.trim().split('\n');

      expect(new Set(mounts.map((mount) => mount.split(' ')[0]))).toEqual(new Set(['/tmp', '/dev/shm']));
      for (const mount of mounts) expect(mount).toMatch(/nosuid,nodev/);
    });

    (traits.closesForeignCalls ? test : test.skip)(
      'calls that reach kernel code outside a sandbox are refused: rings, vsock, the entries of other ABIs',
      async () => {
        if (process.arch !== 'x64') return;
        const calls = traits.filtersSystemCalls ? [...foreignCalls, ...machineCalls] : foreignCalls;
        expect((await outcomesOf(canary, calls)).filter(([, code]) => code === 0)).toEqual([]);
      },
    );

    test('what a command leaves is out of reach of the machine’s other users, a set-id program too', async () => {
      const shell = '$(readlink -f /bin/sh)';
      await canary.run(`echo mine > open; cp "${shell}" su; chmod 6777 su; chmod 777 . open; cp open su ../outputs`);

      const stat = statSync(canary.hostFile('outputs/su'));
      expect(stat.uid).toBe(underTest.uid);
      expect([stat.uid, stat.gid]).not.toContain(0);
      expect(statSync(canary.hostFile('.')).mode & 0o077).toBe(0);
      for (const closed of [canary.home, join(canary.home, 'users')]) expect(statSync(closed).mode & 0o007).toBe(0);
      if (process.getuid?.() !== 0) return;
      // A shell in between, as setpriv itself has root's capabilities until it executes something.
      const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', 'sh', '-c', '"$0" "$@"'];
      const tries = ['workspace', 'outputs'].flatMap((directory) => [
        ['cat', canary.hostFile(`${directory}/open`)],
        [canary.hostFile(`${directory}/su`), '-p', '-c', 'id'],
      ]);
      for (const attempt of tries) {
        const { stdout, stderr } = spawnSync('setpriv', [...asNobody, ...attempt], { encoding: 'utf8' });
        expect([attempt, stdout, stderr]).toEqual([attempt, '', expect.stringContaining('Permission denied')]);
      }
    });

    test('other processes, the kernel and the machine show and take nothing', async () => {
      const looks = [
        'cat /proc/1/environ /proc/*/environ',
        `cat /proc/*/root${canary.outside}/f /proc/*/cwd/../outside/f`,
      ];
      for (const look of looks) expect((await canary.run(look)).stdout).not.toContain('CARIBOU');
      const tries = [
        'echo 1 > /proc/sys/kernel/sysrq',
        'echo b > /proc/sysrq-trigger',
        'echo x > /proc/sys/kernel/core_pattern',
        'head -c 1 /proc/kcore',
        'cat /etc/shadow',
        ...traits.kernelLogAttempts,
        'chown 0:0 .',
        `ls ${canary.home}`,
      ];
      expect(succeededOf(tries, await canary.run(allOf(tries)))).toEqual([]);
    });

    test('no socket of the machine is in reach: not the engine’s, not by path, not by an abstract name', async () => {
      const abstract = createServer();
      await new Promise<void>((resolve) => abstract.listen(`\0caribou-abuse-${process.pid}`, resolve));
      const path = createServer();
      await new Promise<void>((resolve) => path.listen(join(canary.outside, 'sock'), resolve));

      const seen = await canary.run(
        // Those without a name, as between processes of a pod, cannot be connected to.
        'find / -type s 2>/dev/null; tail -n +2 /proc/net/unix | grep -E " [@/]"; ls /run/docker.sock /var/run/docker.sock 2>/dev/null',
      );
      abstract.close();
      await new Promise((resolve) => path.close(resolve));

      expect(seen.stdout).toBe('');
    });

    test('no address of the machine, of a service on it, or of a metadata service answers', async () => {
      const port = canary.addresses[0]?.[1] ?? 0;
      const hosts: (readonly [string, number])[] = [
        ...canary.addresses.filter(([host]) => !host.startsWith('fe80')),
        ['127.0.0.1', port],
        ['172.17.0.1', port],
        ['169.254.169.254', 80],
        ['100.100.100.200', 80],
        ['1.1.1.1', 53],
      ];
      const knocks = hosts.map(([host, at]) => `${knock(host, at)}; echo "end of ${host}"`);
      const { stdout } = await canary.run(knocks.join('\n'));
      const answers = stdout.split(/^end of .*\n/m);
      expect(answers).toHaveLength(hosts.length + 1);
      for (const [index, [host]] of hosts.entries()) {
        expect([host, answers[index]]).toEqual([host, expect.stringMatching(/out \d+\n$/)]);
        expect(answers[index]).not.toMatch(/^in$|not found/m);
      }
    }, 60_000);
  });
}
