import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { firstBytes } from './ports.js';
import { startServer, type TestServer } from './server-process.js';

export interface NatsOptions {
  /** Largest message in bytes; default 8 MiB, as the product configures it. */
  readonly maxPayloadBytes?: number;
  /** Default true. */
  readonly jetstream?: boolean;
}

/** A real nats-server with JetStream on disk. */
export function startNats({
  maxPayloadBytes = 8 * 1024 * 1024,
  jetstream = true,
}: NatsOptions = {}): Promise<TestServer> {
  return startServer({
    name: 'nats',
    scheme: 'nats',
    command: async ({ port, dataDir }) => {
      const file = join(dataDir, 'nats.conf');
      const lines = [`listen: "127.0.0.1:${port}"`, `max_payload: ${maxPayloadBytes}`];
      if (jetstream) lines.push(`jetstream { store_dir: "${join(dataDir, 'jetstream')}" }`);
      await writeFile(file, `${lines.join('\n')}\n`);
      return ['nats-server', '-c', file];
    },
    isReady: async (port) => (await firstBytes(port, '')).startsWith('INFO'),
  });
}
