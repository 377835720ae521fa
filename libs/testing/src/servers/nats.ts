import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { firstBytes } from './ports.js';
import { startServer, type TestServer } from './server-process.js';

export interface NatsOptions {
  /** Largest message in bytes; default 8 MiB, as the product configures it. */
  readonly maxPayloadBytes?: number;
  /** Default true. */
  readonly jetstream?: boolean;
  /** The whole configuration file instead of the above. */
  readonly config?: (server: { readonly listen: string; readonly storeDir: string }) => string;
}

/** A real nats-server with JetStream on disk. */
export function startNats({
  maxPayloadBytes = 8 * 1024 * 1024,
  jetstream = true,
  config,
}: NatsOptions = {}): Promise<TestServer> {
  return startServer({
    name: 'nats',
    scheme: 'nats',
    command: async ({ port, dataDir }) => {
      const file = join(dataDir, 'nats.conf');
      const server = { listen: `127.0.0.1:${port}`, storeDir: join(dataDir, 'jetstream') };
      const lines = [`listen: "${server.listen}"`, `max_payload: ${maxPayloadBytes}`];
      if (jetstream) lines.push(`jetstream { store_dir: "${server.storeDir}" }`);
      await writeFile(file, config?.(server) ?? `${lines.join('\n')}\n`);
      return ['nats-server', '-c', file];
    },
    isReady: async (port) => (await firstBytes(port, '')).startsWith('INFO'),
  });
}
