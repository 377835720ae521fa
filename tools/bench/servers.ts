import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ProcessGroup } from './process-group.js';
import { freePort, listensOn, type ProcessPlan, type RunningProcess } from './processes.js';

/** The folder of the built product. */
export const dist = resolve(__dirname, '../..');

/** A server that can be paused, killed and started again on its port and its data. */
export interface RestartableServer extends RunningProcess {
  /** SIGSTOP, and SIGCONT. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Starts it again after `kill` or `stop`. */
  readonly startAgain: () => Promise<void>;
}

async function startRestartable(group: ProcessGroup, plan: Omit<ProcessPlan, 'logFile'>): Promise<RestartableServer> {
  let current = await group.start(plan);
  const { name, port, ask, retained } = current;
  return {
    ...{ name, port, ask, retained },
    get pid() {
      return current.pid;
    },
    kill: () => current.kill(),
    stop: () => current.stop(),
    pause: () => void process.kill(current.pid, 'SIGSTOP'),
    resume: () => void process.kill(current.pid, 'SIGCONT'),
    startAgain: async () => {
      current = await group.start(plan);
    },
  };
}

/** Rewrites are off, so that the size of the file is the number of bytes written. */
export async function startRedis(group: ProcessGroup): Promise<RestartableServer> {
  const port = await freePort();
  const dir = join(group.folder, 'redis');
  await mkdir(dir);
  return startRestartable(group, {
    name: 'redis',
    command: [
      'redis-server',
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'yes'],
      ...['--appendfsync', 'everysec', '--auto-aof-rewrite-percentage', '0', '--maxmemory-policy', 'noeviction'],
    ],
    untilReady: listensOn(port),
  });
}

export async function startNats(group: ProcessGroup): Promise<RestartableServer & { readonly monitorUrl: string }> {
  const { folder } = group;
  const [port, monitorPort] = [await freePort(), await freePort()];
  const file = join(folder, 'nats.conf');
  const store = JSON.stringify(join(folder, 'nats'));
  const lines = [
    `listen: "127.0.0.1:${port}"`,
    `http: "127.0.0.1:${monitorPort}"`,
    'max_payload: 8MB',
    `jetstream { store_dir: ${store} }`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const nats = await startRestartable(group, {
    name: 'nats',
    command: ['nats-server', '-c', file],
    untilReady: listensOn(port),
  });
  return Object.assign(nats, { monitorUrl: `http://127.0.0.1:${monitorPort}` });
}

/** Starts the scripted model. */
export async function startModel({ start }: ProcessGroup): Promise<RunningProcess> {
  const port = await freePort();
  return start({
    name: 'model',
    command: [process.execPath, join(dist, 'tools/demo-model/main.js'), '--port', String(port)],
    untilReady: listensOn(port),
  });
}
