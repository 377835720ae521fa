import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.js';
import { waitFor } from '../util/wait-for.js';

/** A real server of a test, on a free loopback port with its own data directory. It dies with the test process. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** Sends SIGKILL; the data directory remains. Resolves when the process has ended. */
  kill9(): Promise<void>;
  /** Sends SIGTERM, so that it writes its state; the data directory remains. Resolves when the process has ended. */
  terminate(): Promise<void>;
  /** Starts it again on the same port and data directory, killing it first if it runs. */
  restart(): Promise<void>;
  pause(): void;
  resume(): void;
  /** SIGKILL, and the data directory is removed. Idempotent. */
  stop(): Promise<void>;
}

export interface ServerSpec {
  readonly name: string;
  readonly scheme: string;
  /** Called before each start. */
  readonly command: (where: {
    readonly port: number;
    readonly dataDir: string;
  }) => Promise<readonly string[]> | readonly string[];
  readonly isReady: (port: number) => Promise<boolean>;
  /** The directory that gets the data directory; default: that of the system for temporary files. */
  readonly dataRoot?: string;
}

/** Starts a server process and waits until it answers. */
export async function startServer(spec: ServerSpec): Promise<TestServer> {
  const port = await freePort();
  const dataDir = await mkdtemp(join(spec.dataRoot ?? tmpdir(), `caribou-${spec.name}-`));
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    child = await launch(spec, { port, dataDir });
  };
  const kill9 = async (): Promise<void> => {
    const running = child;
    child = undefined;
    if (running !== undefined) await killed(running);
  };
  await start();
  return {
    url: `${spec.scheme}://127.0.0.1:${port}`,
    port,
    dataDir,
    kill9,
    terminate: async () => {
      const running = child;
      child = undefined;
      if (running !== undefined) await ended(running, 'SIGTERM');
    },
    restart: async () => {
      await kill9();
      await start();
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    stop: async () => {
      await kill9();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** A server that was killed reads its files first, which takes a while after hours of work on a busy machine. */
const READY_MS = 90_000;

async function launch(
  spec: ServerSpec,
  where: { readonly port: number; readonly dataDir: string },
): Promise<ChildProcess> {
  const command = await spec.command(where);
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => (output = (output + data.toString()).slice(-20_000)));
  }
  let failure: Error | undefined;
  child.once('error', (error) => (failure = error));
  const ready = async (): Promise<boolean> => {
    if (failure !== undefined || child.exitCode !== null) return true;
    return await spec.isReady(where.port);
  };
  await waitFor(ready, { what: `${spec.name} on port ${where.port}`, timeoutMs: READY_MS, everyMs: 10 });
  if (failure !== undefined) throw failure;
  if (child.exitCode !== null) throw new Error(`${spec.name} ended with ${child.exitCode}:\n${output}`);
  return child;
}

/** Sends SIGKILL and waits for the exit. */
export const killed = (child: ChildProcess): Promise<void> => ended(child, 'SIGKILL');

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
