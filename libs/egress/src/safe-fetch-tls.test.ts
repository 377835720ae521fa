import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const repository = join(__dirname, '../../..');
// Builds, and starts a process for each case.
jest.setTimeout(90_000);

/** Run in a process of its own: which authorities are trusted is decided when Node starts. */
const CLIENT = `
const { safeFetch } = require('./dist/libs/egress/src/safe-fetch.js');
const { parseEgressRule } = require('./dist/libs/egress/src/egress-rules.js');
const [url] = process.argv.slice(1);
const open = [parseEgressRule('*.test:' + new URL(url).port)];
safeFetch({ maxBytes: 1000, timeoutMs: 20000, open, resolve: async () => ['127.0.0.1'] })(url)
  .then((answer) => answer.text()).then(console.log, (error) => console.log(error.name + ': ' + error.message));
`;

describe('safeFetch over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'caribou-tls-'));
  const certificate = join(folder, 'cert.pem');
  let server: Server;
  let names: string[];

  beforeAll(async () => {
    const libs = ['libs/contracts', 'libs/core', 'libs/egress'];
    execFileSync(process.execPath, ['tools/build/build.mjs', ...libs], { cwd: repository });
    execFileSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
      ...['-subj', '/CN=a.test', '-addext', 'subjectAltName=DNS:a.test'],
      ...['-keyout', join(folder, 'key.pem'), '-out', certificate],
    ]);
    const [cert, key] = [readFileSync(certificate), readFileSync(join(folder, 'key.pem'))];
    server = createServer({ cert, key }, (request, response) => {
      const socket = request.socket as typeof request.socket & { readonly servername?: string };
      names.push(socket.servername ?? '');
      response.end('over TLS');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  beforeEach(() => {
    names = [];
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  const fetched = async (host: string, env: Record<string, string> = {}): Promise<string> => {
    const url = `https://${host}:${(server.address() as AddressInfo).port}/`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', CLIENT, url], { cwd: repository, env });
    return stdout.trim();
  };

  test('speaks to the checked address in the name of the host, whose certificate must fit', async () => {
    const trusted = { NODE_EXTRA_CA_CERTS: certificate };

    expect(await fetched('a.test', trusted)).toBe('over TLS');
    expect(names).toEqual(['a.test']);
    expect(await fetched('b.test', trusted)).toMatch(/^UnavailableError: b\.test:\d+ .*altnames/);
    expect(await fetched('a.test')).toMatch(/^UnavailableError: a\.test:\d+ .*self-signed certificate/);
  });
});
