import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ThreadFiles } from '@caribou/files';
import type { CommandResult, SandboxSpec, SandboxDriver } from '@caribou/sandbox';
import { waitFor } from '../util/wait-for.js';
import type { SandboxDriverUnderTest } from './sandbox-driver.js';

const WORDS = 'canary-of-the-host';
const SECRET = 'canary-secret-of-the-launcher';

export interface RunOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly in?: SandboxSpec;
}

/** A sandbox under abuse, and what the abuse must not reach: a file, a port, a secret, another thread's sandbox. */
export interface Canary {
  readonly home: string;
  readonly sandbox: SandboxSpec;
  readonly files: ThreadFiles;
  readonly driver: SandboxDriver;
  /** A directory outside all data, with the file `f` in it. */
  readonly outside: string;
  /** Addresses at which the machine's own server listens. */
  readonly addresses: readonly (readonly [host: string, port: number])[];
  /** Runs a command in the sandbox and checks that its output contains neither the secret nor a path of the host. */
  run(command: string, options?: RunOptions): Promise<CommandResult>;
  /** The path on the host of a file of the sandbox's thread. */
  hostFile(path: string): string;
  /** Fails unless file, port and neighbour are unchanged, and the sandbox accepts the next command. */
  expectUntouched(): Promise<void>;
  close(): Promise<void>;
}

const textOf = ({ stdout, stderr }: CommandResult): string => stdout + stderr;

/** A server on all addresses that greets every connection, and counts them. */
async function greeter(): Promise<{ readonly server: Server; readonly port: number; greeted(): number }> {
  let greeted = 0;
  const server = createServer((socket) => {
    greeted += 1;
    socket.on('error', () => undefined);
    socket.end(WORDS);
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { server, port: address.port, greeted: () => greeted };
}

const greeting = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    let heard = '';
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (bytes: Buffer) => (heard += bytes.toString()));
    socket.once('error', reject);
    socket.once('end', () => resolve(heard));
  });

/** Starts processes repeatedly until it is cancelled, so that it fails when no process can be started. */
const NEIGHBOUR = 'echo mine > mine; while :; do sleep 0.1 || exit 9; cat mine; done';

export async function openCanary(underTest: SandboxDriverUnderTest): Promise<Canary> {
  const home = mkdtempSync(join(tmpdir(), 'caribou-abuse-'));
  chmodSync(home, 0o755);
  mkdirSync(join(home, 'skills'));
  const outside = join(home, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'f'), WORDS);
  process.env['CARIBOU_CANARY_SECRET'] = SECRET;
  const driver = await underTest.make(home);
  const files = underTest.files(home);
  const specOf = (name: string): SandboxSpec => ({
    sandboxId: `caribou-abuse-${process.pid}-${name}`,
    managerId: 'm1',
    userId: 'default',
    threadId: name,
  });
  const [sandbox, neighbour] = [specOf('abused'), specOf('neighbour')];
  await Promise.all([driver.create(sandbox, { fresh: true }), driver.create(neighbour, { fresh: true })]);
  const { server, port, greeted } = await greeter();
  const exec = (spec: SandboxSpec, command: string, options: RunOptions, timeoutMs: number): Promise<CommandResult> =>
    driver.exec(
      spec,
      { command, timeoutMs: options.timeoutMs ?? timeoutMs, maxOutputBytes: 65_536 },
      options.signal ?? new AbortController().signal,
    );
  const end = new AbortController();
  let signs = '';
  const onOutput = (_: 'out' | 'err', chunk: Buffer): void => void (signs += chunk.toString());
  const command = { command: NEIGHBOUR, timeoutMs: 600_000, maxOutputBytes: 65_536, onOutput };
  const neighbourRun = driver.exec(neighbour, command, end.signal);
  neighbourRun.catch(() => undefined);
  const stat = statSync(join(outside, 'f'));
  const external = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  let heard = 0;

  const run: Canary['run'] = async (command, options = {}) => {
    const result = await exec(options.in ?? sandbox, command, options, 30_000);
    expect(textOf(result)).not.toContain(WORDS);
    expect(textOf(result)).not.toContain(SECRET);
    return result;
  };
  return {
    home,
    sandbox,
    files,
    driver,
    outside,
    run,
    addresses: external.map(({ address }) => [address, port]),
    hostFile: (path) => join(files.hostPath(sandbox, 'workspace'), '..', path),
    expectUntouched: async () => {
      expect(readFileSync(join(outside, 'f'), 'utf8')).toBe(WORDS);
      expect(statSync(join(outside, 'f'))).toMatchObject({ mode: stat.mode, nlink: 1, mtimeMs: stat.mtimeMs });
      expect(greeted()).toBe(heard);
      heard += 1;
      expect(await greeting(port)).toBe(WORDS);
      const before = signs.length;
      await waitFor(() => signs.length > before, { what: 'a sign of life of the other thread', timeoutMs: 60_000 });
      expect(await run('echo alive')).toMatchObject({ stdout: 'alive\n', exitCode: 0 });
    },
    close: async () => {
      end.abort();
      expect(await neighbourRun).toMatchObject({ stderr: '', endedBy: 'cancel' });
      expect(signs.replaceAll('mine\n', '')).toBe('');
      await Promise.all([driver.remove(sandbox), driver.remove(neighbour)]);
      await new Promise((resolve) => server.close(resolve));
      delete process.env['CARIBOU_CANARY_SECRET'];
      rmSync(home, { recursive: true, force: true });
    },
  };
}
