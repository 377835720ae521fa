import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ProcessGroup } from './process-group.js';
import { freePort, listensOn, type RunningProcess } from './processes.js';

/** The folder of the built product. */
export const dist = resolve(__dirname, '../..');

/** Rewrites are off, so that the size of the file is the number of bytes written. */
export async function startRedis({ folder, start }: ProcessGroup): Promise<RunningProcess> {
  const port = await freePort();
  const dir = join(folder, 'redis');
  await mkdir(dir);
  return start({
    name: 'redis',
    command: [
      'redis-server',
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'yes'],
      ...['--appendfsync', 'everysec', '--auto-aof-rewrite-percentage', '0', '--maxmemory-policy', 'noeviction'],
    ],
    untilReady: listensOn(port),
  });
}

export async function startNats({
  folder,
  start,
}: ProcessGroup): Promise<RunningProcess & { readonly monitorUrl: string }> {
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
  const nats = await start({ name: 'nats', command: ['nats-server', '-c', file], untilReady: listensOn(port) });
  return { ...nats, monitorUrl: `http://127.0.0.1:${monitorPort}` };
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
