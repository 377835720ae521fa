import {
  isSentinelUrl,
  type NatsLogin,
  type NatsSecurity,
  type RedisSecurity,
  type TlsMaterial,
  omitUndefined,
} from '@caribou/contracts';
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { Findings } from '../common/findings.js';
import { type Environment, variable } from '../common/references.js';
import { Secret } from '../common/secret.js';

interface ReadContext {
  readonly env: Environment;
  readonly findings: Findings;
}

/** PEM text from a variable, or from the file that the variable with `_FILE` names. */
interface Pem {
  /** The variable that is set, for messages. */
  readonly name: string;
  readonly text: string;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;
const USER_SEED = /^SU[A-Z2-7]{56}$/;
/** A JWT and a seed, each delimited by lines of dashes. */
const CREDENTIALS = /-----BEGIN NATS USER JWT-----\r?\n[\s\S]+-----BEGIN USER NKEY SEED-----\r?\n[\s\S]+-----\s*$/;

/** Reads TLS and login of the NATS connection: `NATS_CA`, `NATS_CERT`, `NATS_KEY`, `NATS_CREDS` and `NATS_NKEY_SEED`, or files. */
export function readNatsSecurity(context: ReadContext): Secret<NatsSecurity> {
  return new Secret(omitUndefined({ tls: tlsOf(context, 'NATS'), login: loginOf(context) }));
}

/** Reads TLS of the Redis connection, `REDIS_CA`, `REDIS_CERT` and `REDIS_KEY`, and the login to Sentinels, or files. */
export function readRedisSecurity(context: ReadContext, url: string): Secret<RedisSecurity> {
  const tls = tlsOf(context, 'REDIS');
  if (tls !== undefined && !url.startsWith('rediss'))
    context.findings.faults.push('REDIS_URL: must start with rediss:// when REDIS_CA or REDIS_CERT is set');
  return new Secret(omitUndefined({ tls, sentinel: sentinelLoginOf(context, url) }));
}

function sentinelLoginOf({ env, findings }: ReadContext, url: string): RedisSecurity['sentinel'] {
  const user = variable(env, 'REDIS_SENTINEL_USER');
  const password = variable(env, 'REDIS_SENTINEL_PASSWORD');
  if (user === undefined && password === undefined) return undefined;
  const given = password === undefined ? 'REDIS_SENTINEL_USER' : 'REDIS_SENTINEL_PASSWORD';
  if (!isSentinelUrl(url))
    findings.faults.push(`${given}: needs Sentinels in REDIS_URL, as redis+sentinel://host/name`);
  if (password === undefined) {
    findings.faults.push('REDIS_SENTINEL_USER: needs its password in REDIS_SENTINEL_PASSWORD');
    return undefined;
  }
  return { password, ...omitUndefined({ user }) };
}

function tlsOf(context: ReadContext, server: 'NATS' | 'REDIS'): TlsMaterial | undefined {
  const [ca, cert, key] = ['CA', 'CERT', 'KEY'].map((part) => pemOf(context, `${server}_${part}`));
  if (ca !== undefined) certificatesOf(context, ca);
  checkIdentity(context, { server, cert, key });
  if (ca === undefined && cert === undefined) return undefined;
  return omitUndefined({ ca: ca?.text, cert: cert?.text, key: key?.text });
}

function pemOf({ env }: ReadContext, name: string): Pem | undefined {
  const text = variable(env, name);
  if (text === undefined) return undefined;
  const inline = (env[name]?.trim() ?? '') !== '';
  return { name: inline ? name : `${name}_FILE`, text: `${text}\n` };
}

/** Returns the first certificate when all certificates can be parsed. */
function certificatesOf({ findings }: ReadContext, { name, text }: Pem): X509Certificate | undefined {
  try {
    return (text.match(CERTIFICATE) ?? ['']).map((pem) => new X509Certificate(pem))[0];
  } catch {
    findings.faults.push(`${name}: must hold certificates in PEM`);
    return undefined;
  }
}

function keyOf({ findings }: ReadContext, { name, text }: Pem): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    findings.faults.push(`${name}: must hold a private key in PEM, without a passphrase`);
    return undefined;
  }
}

interface Identity {
  readonly server: string;
  readonly cert: Pem | undefined;
  readonly key: Pem | undefined;
}

function checkIdentity(context: ReadContext, { server, cert, key }: Identity): void {
  const { faults } = context.findings;
  if (cert === undefined || key === undefined) {
    if (cert !== undefined) faults.push(`${cert.name}: needs its key in ${server}_KEY or ${server}_KEY_FILE`);
    if (key !== undefined) faults.push(`${key.name}: needs its certificate in ${server}_CERT or ${server}_CERT_FILE`);
    return;
  }
  const [certificate, privateKey] = [certificatesOf(context, cert), keyOf(context, key)];
  if (certificate !== undefined && privateKey !== undefined && !certificate.checkPrivateKey(privateKey))
    faults.push(`${key.name}: is not the key of the certificate in ${cert.name}`);
}

function loginOf({ env, findings }: ReadContext): NatsLogin | undefined {
  const [creds, seed] = [variable(env, 'NATS_CREDS'), variable(env, 'NATS_NKEY_SEED')];
  if (creds !== undefined && seed !== undefined)
    findings.faults.push('NATS_NKEY_SEED: cannot be used together with NATS_CREDS, which has a seed of its own');
  if (creds !== undefined) {
    if (!CREDENTIALS.test(creds))
      findings.faults.push('NATS_CREDS: must hold a user JWT and its seed, as nsc writes them');
    // The client library requires a line break at the end.
    return { kind: 'creds', content: `${creds}\n` };
  }
  if (seed === undefined) return undefined;
  if (!USER_SEED.test(seed)) findings.faults.push('NATS_NKEY_SEED: must be the seed of a user, SU and 56 characters');
  return { kind: 'nkey', seed };
}
