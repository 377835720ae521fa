import { readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { processesWith as processesOfMachine } from '../box-processes.js';
import { ON_MACHINE_KERNEL } from './box-traits.js';
import { type Canary, openCanary } from './sandbox-canary.js';
import { type SandboxDriverUnderTest, uniqueSleep } from './sandbox-driver.js';

const MiB = 1024 * 1024;

/** Says `in` when something answers at an address, else why not; by bash's own means, or by nc. */
const knock = (host: string, port: number): string =>
  `if [ -x /bin/bash ]; then timeout 3 /bin/bash -c 'exec 3<>/dev/tcp/${host}/${port} && echo in && cat <&3'; ` +
  `else timeout 3 nc -w 2 ${host} ${port} </dev/null && echo in; fi 2>&1 || echo "out $?"`;

/** What a command may try against the machine, its services and other threads, with any driver. */
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
      for (const attempt of tries)
        expect([attempt, (await canary.run(attempt)).exitCode === 0]).toEqual([attempt, false]);
      expect((await canary.run('yes > /dev/shm/fill; yes > /tmp/fill; yes > /fill; yes > /dev/fill')).endedBy).toBe(
        'exit',
      );

      const sizes = readdirSync(canary.hostFile('workspace')).map(
        (file) => statSync(canary.hostFile(`workspace/${file}`)).size,
      );
      expect(Math.max(0, ...sizes)).toBeLessThanOrEqual(16 * MiB);
      await canary.run('rm -f fill sparse far');
    }, 60_000);

    test('a setuid file is of no use to anybody: it belongs to the user of commands, out of reach of others', async () => {
      await canary.run(
        'cp "$(readlink -f /bin/sh)" su; chmod 6755 su; chown 0:0 su 2>/dev/null; ./su -c "id -u" || true',
      );

      const stat = statSync(canary.hostFile('workspace/su'));
      expect(stat.uid).toBe(underTest.uid);
      expect([stat.uid, stat.gid]).not.toContain(0);
      expect(statSync(canary.hostFile('.')).mode & 0o077).toBe(0);
      expect(
        (await canary.run('chmod 4755 /bin/sh /usr/bin/env; find / -xdev -user 0 -perm -2 -type f 2>/dev/null')).stdout,
      ).toBe('');
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
      for (const attempt of tries)
        expect([attempt, (await canary.run(attempt)).exitCode === 0]).toEqual([attempt, false]);
    });

    test('no socket of the machine is in reach: not the engine’s, not by path, not by an abstract name', async () => {
      const abstract = createServer();
      await new Promise<void>((resolve) => abstract.listen(`\0caribou-abuse-${process.pid}`, resolve));
      const path = createServer();
      await new Promise<void>((resolve) => path.listen(join(canary.outside, 'sock'), resolve));

      const seen = await canary.run(
        'find / -type s 2>/dev/null; tail -n +2 /proc/net/unix; ls /run/docker.sock /var/run/docker.sock 2>/dev/null',
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
      for (const [host, at] of hosts) {
        const { stdout } = await canary.run(knock(host, at));
        expect([host, stdout]).toEqual([host, expect.stringMatching(/out \d+\n$/)]);
        expect(stdout).not.toMatch(/^in$|not found/m);
      }
    }, 60_000);
  });
}
