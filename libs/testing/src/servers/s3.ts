import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { firstBytes } from './ports.js';
import { startServer, type TestServer } from './server-process.js';

/** An S3 server of a test with a bucket of this name. */
export const S3_BUCKET = 'caribou-test';

export interface S3Access {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface S3TestServer {
  readonly server: TestServer;
  readonly access: S3Access;
}

const repository = join(__dirname, '..', '..', '..', '..');

const answersHttp = async (port: number): Promise<boolean> =>
  (await firstBytes(port, 'GET /ready HTTP/1.0\r\n\r\n')).startsWith('HTTP/1.');

/** s3rver, an S3 server for Node. It keeps objects in files and knows one key, but does not check signatures. */
export async function startS3rver(): Promise<S3TestServer> {
  const program = join(repository, 'node_modules', 's3rver', 'bin', 's3rver.js');
  const server = await startServer({
    name: 's3rver',
    scheme: 'http',
    command: ({ port, dataDir }) => [
      process.execPath,
      // For the continuation tokens of its lists.
      '--openssl-legacy-provider',
      program,
      ...['--directory', dataDir, '--address', '127.0.0.1', '--port', String(port), '--silent'],
      ...['--no-vhost-buckets', '--configure-bucket', S3_BUCKET],
    ],
    isReady: answersHttp,
  });
  return { server, access: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } };
}

/** Where `npm test` installs moto; see tools/launcher/machine/moto.mjs. */
const motoProgram = join(repository, '.caribou', 'servers', 'moto', 'bin', 'moto_server');

/** Why moto cannot be started, or null. */
export const missingForMoto = (): string | null =>
  existsSync(motoProgram) ? null : 'moto is not installed: npm test installs it where Python 3 and PyPI are';

/** moto, an S3 server in Python. It keeps objects in memory, and checks signatures and what the key may do. */
export async function startMoto(): Promise<S3TestServer> {
  const server = await startServer({
    name: 'moto',
    scheme: 'http',
    command: ({ port }) => [motoProgram, '--host', '127.0.0.1', '--port', String(port)],
    isReady: answersHttp,
  });
  try {
    return { server, access: await makeBucketAndKey(server.url) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function makeBucketAndKey(url: string): Promise<S3Access> {
  const UserName = 'caribou';
  const statement = { Effect: 'Allow', Action: 's3:*', Resource: '*' };
  const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  await ask(`${url}/${S3_BUCKET}`, { method: 'PUT' });
  await askIam(url, { Action: 'CreateUser', UserName });
  const key = await askIam(url, { Action: 'CreateAccessKey', UserName });
  await askIam(url, { Action: 'PutUserPolicy', UserName, PolicyName: 'all', PolicyDocument });
  const [, accessKeyId = ''] = /<AccessKeyId>([^<]+)</.exec(key) ?? [];
  const [, secretAccessKey = ''] = /<SecretAccessKey>([^<]+)</.exec(key) ?? [];
  // From now on it checks each request.
  await ask(`${url}/moto-api/reset-auth`, { method: 'POST', body: '0' });
  if (accessKeyId === '' || secretAccessKey === '') throw new Error(`moto made no key: ${key}`);
  return { accessKeyId, secretAccessKey };
}

/** Moto finds the service by the scope of the signature, which it does not check yet. */
const askIam = (url: string, fields: Readonly<Record<string, string>>): Promise<string> =>
  ask(`${url}/`, {
    method: 'POST',
    headers: {
      authorization:
        'AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=x',
    },
    body: new URLSearchParams({ Version: '2010-05-08', ...fields }),
  });

async function ask(url: string, request: RequestInit): Promise<string> {
  const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(30_000) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`moto answered HTTP ${answer.status}: ${text}`);
  return text;
}
