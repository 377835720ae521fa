import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A certificate with its key: files, and what is in them. */
export interface TestIdentity {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

/** An authority of a test, with a certificate for a server at 127.0.0.1 and one for a client. */
export interface TestCertificates {
  readonly caFile: string;
  readonly ca: string;
  readonly server: TestIdentity;
  readonly client: TestIdentity;
  remove(): Promise<void>;
}

interface Wanted {
  readonly name: string;
  /** X.509 extensions, such as `subjectAltName=IP:127.0.0.1`. */
  readonly extensions: readonly string[];
  readonly signedBy?: TestIdentity;
}

/** Makes the certificates with `openssl`. */
export async function makeCertificates(): Promise<TestCertificates> {
  const folder = await mkdtemp(join(tmpdir(), 'caribou-certificates-'));
  const authority = await make(folder, { name: 'authority', extensions: ['basicConstraints=critical,CA:TRUE'] });
  const leaf = (name: string) => {
    const extensions = ['basicConstraints=critical,CA:FALSE', 'subjectAltName=IP:127.0.0.1'];
    return make(folder, { name, extensions, signedBy: authority });
  };
  return {
    caFile: authority.certFile,
    ca: authority.cert,
    server: await leaf('server'),
    client: await leaf('client'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function make(folder: string, { name, extensions, signedBy }: Wanted): Promise<TestIdentity> {
  const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', `/CN=${name}`, '-keyout', keyFile, '-out', certFile],
    ...(signedBy === undefined ? [] : ['-CA', signedBy.certFile, '-CAkey', signedBy.keyFile]),
    ...extensions.flatMap((extension) => ['-addext', extension]),
  ]);
  return { certFile, keyFile, cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
}
