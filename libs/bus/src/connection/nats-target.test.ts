import type { NatsSecurity } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { makeCertificates, startNats, type TestCertificates, type TestServer } from '@caribou/testing';
import { nkeys as untypedKeys } from 'nats';
import { connectBus } from '../connect-bus.js';

interface KeyPair {
  getSeed(): Uint8Array;
  getPublicKey(): string;
  sign(bytes: Uint8Array): Uint8Array;
}

/** The client library has no types for them. */
const nkeys = untypedKeys as unknown as Readonly<
  Record<'createUser' | 'createAccount' | 'createOperator', () => KeyPair>
>;

const TIMEOUT_MS = 30_000;
jest.setTimeout(3 * TIMEOUT_MS);

const seedOf = (pair: KeyPair): string => Buffer.from(pair.getSeed()).toString();
const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A JWT as NATS reads it: what `nsc` makes. */
function jwt(subject: KeyPair, issuer: KeyPair, claims: { readonly type: string; readonly [key: string]: unknown }) {
  const [sub, iss] = [subject.getPublicKey(), issuer.getPublicKey()];
  const payload = { jti: sub, iat: 1, iss, sub, name: claims.type, nats: { version: 2, ...claims } };
  const signed = `${encoded({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encoded(payload)}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
}

const credentials = (user: KeyPair, account: KeyPair): string =>
  [
    '-----BEGIN NATS USER JWT-----',
    jwt(user, account, { type: 'user', pub: {}, sub: {}, subs: -1, data: -1, payload: -1 }),
    '------END NATS USER JWT------',
    '-----BEGIN USER NKEY SEED-----',
    seedOf(user),
    '------END USER NKEY SEED------\n',
  ].join('\n');

/** 'connected', or what the first attempt failed with. */
async function outcome(url: string, security: NatsSecurity = {}): Promise<string> {
  let refuse: (reason: string) => void = () => undefined;
  const refused = new Promise<string>((resolve) => (refuse = resolve));
  const tell = (fields: object): void => refuse('error' in fields ? String(fields.error) : 'lost');
  const logger = { ...silentLogger, warn: tell, error: tell };
  const bus = connectBus({ url, ...security, name: 'test', logger, streams: [] });
  try {
    const connected = bus.waitUntilConnected(AbortSignal.timeout(TIMEOUT_MS)).then(() => bus.ping(TIMEOUT_MS));
    return await Promise.race([refused, connected.then(() => 'connected')]);
  } finally {
    await bus.close();
  }
}

describe('a connection to NATS', () => {
  let certificates: TestCertificates;
  let nats: TestServer;
  const user = nkeys.createUser();

  beforeAll(async () => {
    certificates = await makeCertificates();
    const { caFile, server } = certificates;
    nats = await startNats({
      config: ({ listen }) =>
        [
          `listen: "${listen}"`,
          `tls { cert_file: "${server.certFile}", key_file: "${server.keyFile}", ca_file: "${caFile}"`,
          '  verify: true, timeout: 20 }',
          `authorization { timeout: 20, users = [ { nkey: ${user.getPublicKey()} }, { user: u, password: p } ] }`,
        ].join('\n'),
    });
  });
  afterAll(async () => {
    await nats.stop();
    await certificates.remove();
  });

  const mutual = () => ({ ca: certificates.ca, cert: certificates.client.cert, key: certificates.client.key });
  const withPassword = (scheme: string) => `${scheme}://u:p@127.0.0.1:${nats.port}`;

  test('over TLS checks the server by the authority and shows the client certificate', async () => {
    expect(await outcome(withPassword('tls'), { tls: mutual() })).toBe('connected');
    expect(await outcome(withPassword('nats'), { tls: mutual() })).toBe('connected');

    expect(await outcome(withPassword('tls'), { tls: { ca: certificates.ca } })).not.toBe('connected');
    expect(await outcome(withPassword('tls'))).toMatch(/certificate/);
  });

  test('by an address is for a certificate of that address, not of another', async () => {
    const elsewhere = `tls://u:p@127.0.0.2:${nats.port}`;
    expect(await outcome(elsewhere.replace('.2', '.1'), { tls: mutual() })).toBe('connected');
    expect(await outcome(`tls://u:p@localhost:${nats.port}`, { tls: mutual() })).toMatch(/Host: localhost/);
  });

  test('signs in by nkey, and not by that of another', async () => {
    const url = `tls://127.0.0.1:${nats.port}`;
    const login = (pair: KeyPair) => ({ kind: 'nkey', seed: seedOf(pair) }) as const;
    expect(await outcome(url, { tls: mutual(), login: login(user) })).toBe('connected');
    expect(await outcome(url, { tls: mutual(), login: login(nkeys.createUser()) })).toMatch(/Authorization/i);
  });

  test('of tls:// is not made to a server without TLS', async () => {
    const plain = await startNats({ jetstream: false });
    const url = `127.0.0.1:${plain.port}`;
    expect(await outcome(`nats://${url}`)).toBe('connected');
    expect(await outcome(`tls://${url}`)).toMatch(/tls/i);
    expect(await outcome(`nats://${url}`, { tls: { ca: certificates.ca } })).toMatch(/tls/i);
    await plain.stop();
  });

  test('signs in by a credentials file, and not by one of another account', async () => {
    const [operator, account] = [nkeys.createOperator(), nkeys.createAccount()];
    const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
    const server = await startNats({
      config: ({ listen }) =>
        [
          `listen: "${listen}"`,
          `operator: ${jwt(operator, operator, { type: 'operator' })}`,
          'resolver: MEMORY',
          `resolver_preload: { ${account.getPublicKey()}: ${jwt(account, operator, { type: 'account', limits })} }`,
        ].join('\n'),
    });
    const login = (issuer: KeyPair) => ({ kind: 'creds', content: credentials(user, issuer) }) as const;
    expect(await outcome(server.url, { login: login(account) })).toBe('connected');
    expect(await outcome(server.url, { login: login(nkeys.createAccount()) })).toMatch(/Authorization/i);
    await server.stop();
  });
});
