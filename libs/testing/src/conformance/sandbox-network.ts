import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EgressEntry, EgressProxy, parseEgressRule } from '@caribou/egress';
import type { ThreadFiles } from '@caribou/files';
import type { CommandResult, SandboxSpec, SandboxDriver, SandboxNetwork } from '@caribou/sandbox';
import { type ProcessLookup, processesWith } from '../sandboxes/sandbox-processes.js';
import { waitFor } from '../util/wait-for.js';

/** What the test of a driver provides. */
export interface NetworkUnderTest {
  /** A driver that has passed its probe, with its data below `homeDir`. */
  make(homeDir: string, network?: SandboxNetwork): Promise<SandboxDriver>;
  files(homeDir: string): ThreadFiles;
  /** The name of Node's program in a sandbox. */
  readonly node: string;
  /** How connections leave a sandbox: by a socket that is mounted into it (default), or through the agent of a pod. */
  readonly leavesBy?: 'socket' | 'agent';
  /** Network interfaces that a command sees; default: loopback alone. */
  readonly interfaces?: readonly string[];
  /** Whether a forwarder lives as long as its sandbox, and not only as long as a command. */
  readonly forwarderStays: boolean;
  /** Lists the processes of sandboxes; default: from the process list of the host. */
  readonly processesWith?: ProcessLookup;
}

/** A script for the sandbox that prints the result of a connection, through the proxy or directly. */
const CLIENT = `
const net = require('node:net'), http = require('node:http');
const [how, host, port, path] = process.argv.slice(2);
const fail = (error) => { console.log('failed', error.code); process.exit(0); };
const proxy = new URL(process.env.http_proxy || 'http://127.0.0.1:3128');
if (how === 'direct') net.connect(port, host).on('error', fail).on('connect', () => { console.log('reached'); process.exit(0); });
if (how === 'plain') {
  const request = http.get({ host: proxy.hostname, port: proxy.port, path: 'http://' + host + ':' + port + '/', headers: { host } });
  request.on('error', fail).on('response', (answer) => { console.log(answer.statusCode); answer.pipe(process.stdout); });
}
if (how === 'tunnel') {
  const request = http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: host + ':' + port });
  request.on('error', fail).on('connect', (answer, socket) => {
    console.log(answer.statusCode);
    if (answer.statusCode !== 200) process.exit(0);
    http.get({ createConnection: () => socket, headers: { host } }, (inner) => inner.pipe(process.stdout));
  });
  request.end();
}
setTimeout(() => { console.log('silence'); process.exit(0); }, 5000).unref();
`;

const BIG = 8 * 1024 * 1024;
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** The suite of every SandboxDriver for sandboxes with and without network access. */
export function describeSandboxNetwork(name: string, underTest: NetworkUnderTest): void {
  const { leavesBy = 'socket', interfaces = ['lo'] } = underTest;
  const onlyWithSockets = leavesBy === 'socket' ? test : test.skip;
  const INTERFACES = 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " " | sort';
  describe(`${name} with a network`, () => {
    let home: string;
    let driver: SandboxDriver;
    let proxy: EgressProxy;
    let site: Server;
    let service: Server;
    let reached = 0;
    const entries: (EgressEntry & { readonly threadId: string })[] = [];
    const specOf = (threadId: string): SandboxSpec => ({
      sandboxId: `caribou-net-${process.pid}-${threadId}`,
      managerId: 'm1',
      userId: 'default',
      threadId,
    });
    const [sandbox, other] = [specOf('t1'), specOf('t2')];
    const network: SandboxNetwork = {
      serve: (socket, { sandboxId, threadId }) =>
        proxy.serve(socket, { id: sandboxId, onEnd: (entry) => void entries.push({ ...entry, threadId }) }),
    };

    const run = (command: string, spec = sandbox, by = driver): Promise<CommandResult> =>
      by.exec(spec, { command, timeoutMs: 60_000, maxOutputBytes: 65_536 }, new AbortController().signal);
    const outputOf = async (command: string, spec = sandbox, by = driver): Promise<string> => {
      const { stdout, stderr } = await run(command, spec, by);
      return (stdout + stderr).trim();
    };
    const ask = (how: string, host: string, port: number): string => `${underTest.node} net.js ${how} ${host} ${port}`;
    const ofThisHome = (word: string): string[] =>
      processesWith(word).filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(home);
        } catch {
          return false; // The process has just ended.
        }
      });
    const forwarders = async (): Promise<number> =>
      (await (underTest.processesWith ?? ofThisHome)('/run/caribou/forwarder.js')).length;

    async function startServers(): Promise<void> {
      site = createHttpServer((request, response) => {
        response.end(request.url === '/big' ? Buffer.alloc(BIG, 'x') : 'hello from the site');
      });
      service = createServer((socket) => {
        reached += 1;
        socket.on('error', () => undefined).end('a service of the machine');
      });
      site.listen(0, '127.0.0.1');
      service.listen(0);
      await Promise.all([once(site, 'listening'), once(service, 'listening')]);
    }

    beforeAll(async () => {
      // Longer than the address of a unix socket may be.
      const root = mkdtempSync(join(tmpdir(), 'caribou-net-'));
      home = join(root, 'a-directory-with-a-long-name-'.repeat(5));
      mkdirSync(join(home, 'skills'), { recursive: true });
      await startServers();
      const rules = [`site.test:${portOf(site)}`, 'metadata.test:80', '127.0.0.1', '[::1]', '169.254.169.254'];
      proxy = new EgressProxy({
        rules: rules.map(parseEgressRule),
        resolve: (host) => Promise.resolve([host === 'site.test' ? '127.0.0.1' : '169.254.169.254']),
        isAllowedAddress: (address) => address === '127.0.0.1',
      });
      driver = await underTest.make(home, network);
      for (const spec of [sandbox, other]) {
        await driver.create(spec, { fresh: true });
        await underTest.files(home).replace(spec, '/mnt/user-data/workspace/net.js', Buffer.from(CLIENT));
      }
    }, 120_000);
    afterAll(async () => {
      await Promise.all([driver.remove(sandbox), driver.remove(other)]);
      proxy.close();
      await Promise.all([site, service].map((server) => new Promise((resolve) => server.close(resolve))));
      rmSync(join(home, '..'), { recursive: true, force: true });
    }, 60_000);

    test('allows a listed host, and reports which sandbox connected to it', async () => {
      const port = portOf(site);

      expect(await outputOf(ask('plain', 'site.test', port))).toBe('200\nhello from the site');
      expect(await outputOf(ask('tunnel', 'site.test', port), other)).toBe('200\nhello from the site');
      await waitFor(() => entries.length === 2, { what: 'the entries' });
      expect(entries).toMatchObject([
        { threadId: 't1', method: 'GET', host: 'site.test', port, verdict: 'allowed' },
        { threadId: 't2', method: 'CONNECT', host: 'site.test', port, verdict: 'allowed' },
      ]);
    });

    test('is what ordinary programs use, by their environment alone', async () => {
      const url = `http://site.test:${portOf(site)}`;
      const python = `python3 -c 'import urllib.request as r; print(len(r.urlopen("${url}/big").read()))'`;
      const clients = [`curl -sS ${url}/big | wc -c`, `wget -q -O - ${url}/big | wc -c`, python];

      const answers: string[] = [];
      for (const client of clients) {
        const program = client.split(' ')[0] ?? '';
        answers.push(await outputOf(`if command -v ${program} >/dev/null; then ${client}; else echo none; fi`));
      }

      expect(answers).toContain(String(BIG));
      expect(answers.filter((answer) => answer !== 'none' && answer !== String(BIG))).toEqual([]);
    });

    test('refuses every other host with 403, and listed ones at forbidden addresses', async () => {
      const port = portOf(service);
      const machine = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
      const targets: [string, number][] = [
        ...[
          ['other.test', 80] as const,
          ['redis', 6379] as const,
          ['localhost', port] as const,
          ['metadata.test', 80] as const,
        ],
        ...[['169.254.169.254', 80] as const, ['[::1]', 80] as const, ['[fd00:ec2::254]', 80] as const],
        ...machine.map((address) => [address.includes(':') ? `[${address.split('%')[0]}]` : address, port] as const),
      ].map(([host, at]) => [host, at]);

      const all = targets.map(([host, at]) => `${ask('plain', host, at)} | sed -n 1p; ${ask('tunnel', host, at)}`);
      expect((await outputOf(all.join('; '))).split('\n')).toEqual(targets.flatMap(() => ['403', '403']));
      expect(reached).toBe(0);
    }, 120_000);

    test('does not allow connections that bypass the proxy', async () => {
      const machine = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
      const addresses = ['169.254.169.254', 'redis', '127.0.0.1', '::1', ...machine];

      const all = addresses.map((address) => ask('direct', address, portOf(service)));
      for (const line of (await outputOf(all.join('; '))).split('\n')) expect(line).toMatch(/^(failed|silence)/);
      expect(reached).toBe(0);
      expect((await outputOf(INTERFACES)).split('\n')).toEqual(interfaces);
    }, 120_000);

    test('continues for the next command when one has killed all it could', async () => {
      await run('kill -9 -1');
      await run('pkill -9 node; killall -9 node; kill -9 0');

      expect(await outputOf(ask('plain', 'site.test', portOf(site)))).toBe('200\nhello from the site');
    });

    onlyWithSockets('shows a sandbox only its own egress sockets, and lets it change nothing there', async () => {
      expect(Number(await outputOf('find / -name exit.sock 2>/dev/null | wc -l'))).toBeLessThanOrEqual(1);
      for (const act of ['touch /run/caribou/x', 'rm -f /run/caribou/exit.sock', 'echo x >> /run/caribou/forwarder.js'])
        expect([act, (await run(act)).exitCode === 0]).toEqual([act, false]);
      expect(await outputOf('cat /proc/*/cmdline /proc/*/environ 2>/dev/null | tr "\\0" "\\n"')).not.toContain(home);
    });

    onlyWithSockets(
      'has a forwarder only as long as a command or its sandbox needs it',
      async () => {
        const successor = { ...sandbox, managerId: 'm2' };
        await run('true');
        expect(await forwarders()).toBe(underTest.forwarderStays ? 2 : 0);
        const running = run('until [ -e go ]; do sleep 0.1; done');
        await waitFor(async () => (await forwarders()) === (underTest.forwarderStays ? 2 : 1), {
          what: 'the forwarder',
        });
        await underTest.files(home).replace(sandbox, '/mnt/user-data/workspace/go', Buffer.from(''));
        await running;

        const second = await underTest.make(home, network);
        await second.create(successor, { fresh: true });
        expect(readdirSync(join(home, 'run', 'egress', sandbox.sandboxId))).toEqual(['m2']);
        await driver.remove(sandbox);
        expect(await outputOf(ask('plain', 'site.test', portOf(site)), successor, second)).toMatch(/^200/);
        await second.remove(successor);
        await driver.remove(other);

        expect(readdirSync(join(home, 'run', 'egress'))).toEqual([]);
        await waitFor(async () => (await forwarders()) === 0, { what: 'the end of the forwarders' });
        for (const spec of [sandbox, other]) await driver.create(spec, { fresh: true });
      },
      120_000,
    );

    test('does not exist unless it is configured', async () => {
      const bare = join(home, 'bare');
      mkdirSync(bare);
      const without = await underTest.make(bare);
      const spec = specOf('t3');
      await without.create(spec, { fresh: true });

      // In a pod the agent listens for its manager, on another port than the forwarder's (0C38).
      const sockets = leavesBy === 'socket' ? '' : ' | grep 0C38';
      const traces = `env | grep -i proxy; ls /run/caribou 2>/dev/null; (tail -n +2 /proc/net/tcp; tail -n +2 /proc/net/tcp6 2>/dev/null)${sockets}`;
      expect(await outputOf(traces, spec, without)).toBe('');
      expect((await outputOf(INTERFACES, spec, without)).split('\n')).toEqual(interfaces);
      expect(existsSync(join(bare, 'run', 'egress'))).toBe(false);
      await without.remove(spec);
    }, 60_000);
  });
}
