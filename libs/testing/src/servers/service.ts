import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { deadlineSignal } from '@caribou/core';
import { killed } from './server-process.js';

const MAX_OUTPUT_CHARS = 1_000_000;
/** V8 optimizes code that has run eight times as long as usual: a process that lives for seconds rarely gets back the time that takes. */
const OPTIMIZE_LATER = '--interrupt-budget=1000000';

export interface ServiceOptions {
  /** Compiled main file, such as `dist/services/gateway.js`; relative to the working directory. */
  readonly entry: string;
  /** The whole environment except PATH and HOME, which are inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Default 30 s. */
  readonly readyTimeoutMs?: number;
  /** Where it runs; default: in the test's own network. */
  readonly network?: ServiceNetwork;
}

/** A network of its own for processes. */
export interface ServiceNetwork {
  /** The file of the namespace. */
  readonly path: string;
  /** The address of what runs in it, from outside. */
  readonly address: string;
}

export interface ServiceExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A real process of a service; it dies with the test process. */
export interface TestService {
  readonly pid: number;
  /** The address of its port: loopback, or that of its network. */
  readonly host: string;
  /** Port of `/health`, `/ready` and `/metrics`; in a network of its own only a gateway's can be reached. */
  readonly healthPort: number;
  readonly exited: Promise<ServiceExit>;
  readonly running: boolean;
  /** Standard output and error so far, the last million characters. */
  output(): string;
  /** Answers `/ready`: whether it is, and the body. */
  ready(): Promise<{ readonly ok: boolean; readonly body: unknown }>;
  /** Sends SIGKILL; resolves when the process has ended. */
  kill9(): Promise<void>;
  /** SIGSTOP. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** SIGTERM; resolves with the exit, rejects when it takes longer than `timeoutMs` (default 30 s). */
  terminate(timeoutMs?: number): Promise<ServiceExit>;
}

/** Starts a service and waits for its `{type:'ready', healthPort}`. @throws Error with its output when it ends before that */
export async function startService(options: ServiceOptions): Promise<TestService> {
  const entry = resolve(options.entry);
  if (!existsSync(entry)) throw new Error(`${options.entry} is not built`);
  const node = [
    process.execPath,
    '--enable-source-maps',
    OPTIMIZE_LATER,
    '--require',
    join(__dirname, 'code-cache.cjs'),
  ];
  const enter = options.network === undefined ? [] : ['nsenter', `--net=${options.network.path}`];
  const host = options.network?.address ?? '127.0.0.1';
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...enter, ...node, entry], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.env },
  });
  const output = collect(child);
  const exited = new Promise<ServiceExit>((done) => child.once('exit', (code, signal) => done({ code, signal })));
  const healthPort = await readyPort(child, { ...options, output });
  return {
    pid: child.pid ?? 0,
    host,
    healthPort,
    exited,
    get running() {
      return child.exitCode === null && child.signalCode === null;
    },
    output,
    ready: async () => {
      const response = await fetch(`http://${host}:${healthPort}/ready`, { signal: AbortSignal.timeout(5_000) });
      return { ok: response.ok, body: await response.json() };
    },
    kill9: () => killed(child),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    terminate: async (timeoutMs = 30_000) => {
      child.kill('SIGTERM');
      const late = new Promise<never>((_, reject) => {
        setTimeout(
          () => reject(new Error(`still running ${timeoutMs} ms after SIGTERM:\n${output()}`)),
          timeoutMs,
        ).unref();
      });
      return await Promise.race([exited, late]);
    },
  };
}

function collect(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data: Buffer) => (text = (text + data.toString()).slice(-MAX_OUTPUT_CHARS)));
  }
  return () => text;
}

async function readyPort(
  child: ChildProcess,
  options: { readonly entry: string; readonly readyTimeoutMs?: number; readonly output: () => string },
): Promise<number> {
  const { entry, readyTimeoutMs = 30_000, output } = options;
  const waiting = new AbortController();
  const signal = AbortSignal.any([waiting.signal, deadlineSignal(readyTimeoutMs)]);
  const fail = (what: string): Error => new Error(`${entry} ${what}:\n${output()}`);
  const message = (async (): Promise<number> => {
    for (;;) {
      const [received]: unknown[] = await once(child, 'message', { signal });
      if (isReady(received)) return received.healthPort;
    }
  })().catch((cause: unknown) => {
    if (waiting.signal.aborted) return 0;
    throw fail(`is not ready after ${readyTimeoutMs} ms (${String(cause)})`);
  });
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code, by) => reject(fail(`ended with ${code ?? by} before it was ready`)));
  });
  try {
    return await Promise.race([message, ended]);
  } catch (cause) {
    await killed(child);
    throw cause;
  } finally {
    waiting.abort();
    ended.catch(() => undefined);
  }
}

function isReady(message: unknown): message is { readonly type: 'ready'; readonly healthPort: number } {
  if (typeof message !== 'object' || message === null) return false;
  return (
    'type' in message && message.type === 'ready' && 'healthPort' in message && typeof message.healthPort === 'number'
  );
}
