import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { firstBytes } from './ports.js';
import { startServer, type TestServer } from './server-process.js';

/** The bucket and keys of the S3 servers below. */
export const s3Access = { bucket: 'caribou-test', accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } as const;

const repository = join(__dirname, '..', '..', '..', '..');

const answersHttp = async (port: number): Promise<boolean> =>
  (await firstBytes(port, 'GET /ready HTTP/1.0\r\n\r\n')).startsWith('HTTP/1.');

/** s3rver, an S3 server for Node that checks signatures, with the bucket of `s3Access`. */
export function startS3rver(): Promise<TestServer> {
  const program = join(repository, 'node_modules', 's3rver', 'bin', 's3rver.js');
  return startServer({
    name: 's3rver',
    scheme: 'http',
    command: ({ port, dataDir }) => [
      process.execPath,
      // For the continuation tokens of its lists.
      '--openssl-legacy-provider',
      program,
      ...['--directory', dataDir, '--address', '127.0.0.1', '--port', String(port), '--silent'],
      ...['--no-vhost-buckets', '--configure-bucket', s3Access.bucket],
    ],
    isReady: answersHttp,
  });
}

/** Where `npm test` installs moto; see tools/launcher/machine/moto.mjs. */
const motoProgram = join(repository, '.caribou', 'servers', 'moto', 'bin', 'moto_server');

/** Why moto cannot be started, or null. */
export const missingForMoto = (): string | null =>
  existsSync(motoProgram) ? null : 'moto is not installed: npm test installs it where Python 3 and PyPI are';

/** moto, an S3 server in Python with the bucket of `s3Access`; it takes all keys and keeps objects in memory. */
export async function startMoto(): Promise<TestServer> {
  const server = await startServer({
    name: 'moto',
    scheme: 'http',
    command: ({ port }) => [motoProgram, '--host', '127.0.0.1', '--port', String(port)],
    isReady: answersHttp,
  });
  const made = await fetch(`${server.url}/${s3Access.bucket}`, { method: 'PUT', signal: AbortSignal.timeout(30_000) });
  if (!made.ok) throw new Error(`moto did not make a bucket: HTTP ${made.status}`);
  return server;
}
