import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { firstBytes, freePort } from './ports.js';
import { startServer, type TestServer } from './server-process.js';

/** Real nats-servers that form a cluster with JetStream. */
export interface NatsCluster {
  /** The servers in the order of their names, `n0` and so on. */
  readonly nodes: readonly TestServer[];
  /** All addresses, with commas between. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the servers; a leader for JetStream is elected a second or two later. */
export async function startNatsCluster(size = 3): Promise<NatsCluster> {
  const ports: number[] = [];
  while (ports.length < size) {
    const port = await freePort();
    if (!ports.includes(port)) ports.push(port);
  }
  const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(', ');
  const nodes = await Promise.all(
    ports.map((port, index) =>
      startServer({
        name: 'nats',
        scheme: 'nats',
        command: async (own) => {
          const file = join(own.dataDir, 'nats.conf');
          const lines = [
            `server_name: n${index}`,
            `listen: "127.0.0.1:${own.port}"`,
            `max_payload: ${8 * 1024 * 1024}`,
            `jetstream { store_dir: "${join(own.dataDir, 'jetstream')}" }`,
            `cluster { name: test, listen: "127.0.0.1:${port}", routes: [${routes}] }`,
          ];
          await writeFile(file, `${lines.join('\n')}\n`);
          return ['nats-server', '-c', file];
        },
        isReady: async (clientPort) => (await firstBytes(clientPort, '')).startsWith('INFO'),
      }),
    ),
  );
  return {
    nodes,
    url: nodes.map(({ url }) => url).join(','),
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}
