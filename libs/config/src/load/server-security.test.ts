import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificates, type TestCertificates } from '@caribou/testing';
import { loadConfig } from '../index.js';

const SEED = `SU${'A'.repeat(56)}`;
const CREDS = [
  '-----BEGIN NATS USER JWT-----',
  'a.b.c',
  '------END NATS USER JWT------',
  '-----BEGIN USER NKEY SEED-----',
  SEED,
  '------END USER NKEY SEED------',
].join('\n');

describe('TLS and logins of servers in loadConfig', () => {
  const folder = mkdtempSync(join(tmpdir(), 'caribou-config-'));
  let certificates: TestCertificates;
  beforeAll(async () => {
    certificates = await makeCertificates();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await certificates.remove();
  });

  const fileOf = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const load = (env: Record<string, string>) => loadConfig(env, folder);

  test('are absent by default', () => {
    const { nats, redis } = load({});
    expect([nats.security.reveal(), redis.security.reveal()]).toEqual([{}, {}]);
  });

  test('are read from the files that the variables name, and shown by nothing', () => {
    const { caFile, ca, client } = certificates;
    const config = load({
      REDIS_URL: 'rediss://h:6379',
      NATS_CREDS_FILE: fileOf('creds', CREDS),
      NATS_CA_FILE: caFile,
      NATS_CERT_FILE: client.certFile,
      NATS_KEY_FILE: client.keyFile,
      REDIS_CA: ca,
      REDIS_CERT_FILE: client.certFile,
      REDIS_KEY_FILE: client.keyFile,
    });
    const tls = { ca, cert: client.cert, key: client.key };
    expect(config.nats.security.reveal()).toEqual({ tls, login: { kind: 'creds', content: `${CREDS}\n` } });
    expect(config.redis.security.reveal()).toEqual({ tls });
    expect(JSON.stringify(config)).not.toMatch(/PRIVATE|BEGIN/);
    expect(load({ NATS_NKEY_SEED_FILE: fileOf('seed', `${SEED}\n`) }).nats.security.reveal()).toEqual({
      login: { kind: 'nkey', seed: SEED },
    });
  });

  test.each<[string, (own: TestCertificates) => Record<string, string>, string]>([
    ['a missing file', () => ({ NATS_CA_FILE: '/none' }), 'NATS_CA_FILE: the file cannot be read (ENOENT)'],
    ['a CA that is none', () => ({ NATS_CA: 'secret' }), 'NATS_CA: must hold certificates in PEM'],
    ['a certificate alone', ({ client }) => ({ NATS_CERT_FILE: client.certFile }), 'NATS_CERT_FILE: needs its key'],
    ['a key alone', ({ client }) => ({ NATS_KEY_FILE: client.keyFile }), 'NATS_KEY_FILE: needs its certificate'],
    [
      'a file that holds no key',
      ({ client }) => ({ NATS_CERT_FILE: client.certFile, NATS_KEY_FILE: client.certFile }),
      'NATS_KEY_FILE: must hold a private key in PEM',
    ],
    [
      "another certificate's key",
      ({ client, server }) => ({ NATS_CERT_FILE: client.certFile, NATS_KEY_FILE: server.keyFile }),
      'NATS_KEY_FILE: is not the key of the certificate in NATS_CERT_FILE',
    ],
    ['redis:// with a CA', ({ caFile }) => ({ REDIS_CA_FILE: caFile }), 'REDIS_URL: must start with rediss://'],
    ['a seed that is none', () => ({ NATS_NKEY_SEED: 'secret' }), 'NATS_NKEY_SEED: must be the seed of a user'],
    ['credentials that are none', () => ({ NATS_CREDS: 'secret' }), 'NATS_CREDS: must hold a user JWT'],
    ['two logins', () => ({ NATS_CREDS: CREDS, NATS_NKEY_SEED: SEED }), 'NATS_NKEY_SEED: cannot be used together'],
  ])('%s is a fault that names the variable', (_what, env, fault) => {
    expect(() => load(env(certificates))).toThrow(fault);
    expect(() => load(env(certificates))).not.toThrow('secret');
  });
});
