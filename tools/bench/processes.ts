import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;

export interface ProcessPlan {
  readonly name: string;
  readonly command: readonly [file: string, ...args: string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** Output of the process, errors included. */
  readonly logFile: string;
  /** Waits until the process is ready; returns the port it listens on. */
  readonly untilReady: (child: ChildProcess) => Promise<number>;
}

/** What a process holds after a collection of garbage. */
export interface Retained {
  readonly bytes: number;
  readonly timers: number;
  readonly sockets: number;
  /** What keeps its event loop alive: handles, requests and timers. */
  readonly resources: number;
}

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  /** Sends a message and waits for one of that type, at most a minute. */
  readonly ask: (message: string, replyType: string) => Promise<Readonly<Record<string, unknown>>>;
  /** Only of a process that loaded heap-probe.js. */
  readonly retained: () => Promise<Retained>;
  /** SIGTERM, then SIGKILL when that takes longer than 20 s. */
  readonly stop: () => Promise<void>;
  /** SIGKILL. */
  readonly kill: () => Promise<void>;
}

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/** Starts a process that dies with this one. @throws Error with its last output when it ends before it is ready */
export async function startProcess(plan: ProcessPlan): Promise<RunningProcess> {
  const log = openSync(plan.logFile, 'a');
  const [file, ...args] = plan.command;
  const child = spawn(file, args, {
    stdio: ['ignore', log, log, 'ipc'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...plan.env },
  });
  closeSync(log);
  children.add(child);
  const port = await Promise.race([plan.untilReady(child), rejectOnExit(child), rejectWhenLate()]).catch(
    (cause: unknown) => {
      throw new Error(`${plan.name} did not start:\n${lastOutput(plan)}`, { cause });
    },
  );
  const onUnexpectedExit = (code: number | null, signal: NodeJS.Signals | null): void => {
    process.stderr.write(`${plan.name} ended by itself (${code ?? signal}):\n${lastOutput(plan)}\n`);
  };
  child.once('exit', onUnexpectedExit);
  const stop = (): Promise<void> => {
    child.off('exit', onUnexpectedExit);
    return stopChild(child);
  };
  const kill = (): Promise<void> => {
    child.off('exit', onUnexpectedExit);
    child.kill('SIGKILL');
    return stopChild(child);
  };
  const ask: RunningProcess['ask'] = (message, replyType) => {
    child.send(message);
    return messageOf(child, replyType);
  };
  const retained = async (): Promise<Retained> => {
    const { bytes, timers, sockets, resources } = await ask('retained', 'retained');
    return {
      bytes: Number(bytes),
      timers: Number(timers),
      sockets: Number(sockets),
      resources: Number(resources),
    };
  };
  return { name: plan.name, pid: child.pid ?? 0, port, ask, retained, stop, kill };
}

const lastOutput = ({ logFile }: ProcessPlan): string => readFileSync(logFile, 'utf8').slice(-4_000);

async function rejectOnExit(child: ChildProcess): Promise<never> {
  const [code] = (await once(child, 'exit')) as [number | null];
  throw new Error(`ended with ${code}`);
}

async function rejectWhenLate(): Promise<never> {
  await sleep(READY_TIMEOUT_MS, undefined, { ref: false });
  throw new Error(`is not ready after ${READY_TIMEOUT_MS} ms`);
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const killer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exit;
    clearTimeout(killer);
  }
  children.delete(child);
}

/** Waits for a message `{type: 'ready', healthPort | port}`, as the programs of this repository send it. */
export async function readyMessage(child: ChildProcess): Promise<number> {
  const message = await messageOf(child, 'ready');
  return Number(message['healthPort'] ?? message['port']);
}

async function messageOf(child: ChildProcess, type: string): Promise<Readonly<Record<string, unknown>>> {
  const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
  for (;;) {
    const [message] = (await once(child, 'message', { signal })) as [Readonly<Record<string, unknown>>];
    if (message['type'] === type) return message;
  }
}

/** Waits until a server listens on the port. */
export const listensOn = (port: number) => async (): Promise<number> => {
  for (;;) {
    const socket = connect({ port, host: '127.0.0.1' });
    try {
      await once(socket, 'connect');
      return port;
    } catch {
      await sleep(20);
    } finally {
      socket.destroy();
    }
  }
};

/** A TCP port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a listening TCP server has no port');
  return address.port;
}
