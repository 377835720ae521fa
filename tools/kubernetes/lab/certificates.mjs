import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { runCommand, tail } from '../../launcher/processes/run-command.mjs';
import { LauncherError } from '../../launcher/processes/terminal.mjs';
import { apiPort, kubeconfig, machines, run, services } from './layout.mjs';

/** The lab's authority, and what it has signed: the API server, and the administrator, who also speaks for the components. */

const timeoutMs = 30_000;
const days = '3650';

export const certificate = {
  authority: run('pki', 'ca.crt'),
  server: run('pki', 'api.crt'),
  serverKey: run('pki', 'api.key'),
  admin: run('pki', 'admin.crt'),
  adminKey: run('pki', 'admin.key'),
  accounts: run('pki', 'accounts.key'),
};
const authorityKey = run('pki', 'ca.key');

/** @param {string[]} args */
async function openssl(...args) {
  const { code, output } = await runCommand('openssl', args, { timeoutMs });
  if (code !== 0) throw new LauncherError(`openssl ${args[0]} failed:\n${tail(output, 5)}`);
}

const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** @param {{ subject: string, key: string, file: string, extensions: string }} wanted */
async function sign({ subject, key, file, extensions }) {
  const extensionFile = `${file}.ext`;
  writeFileSync(extensionFile, extensions);
  await openssl('req', '-new', ...curve, '-subj', subject, '-keyout', key, '-out', `${file}.csr`);
  const by = ['-CA', certificate.authority, '-CAkey', authorityKey, '-CAcreateserial', '-days', days];
  await openssl('x509', '-req', '-in', `${file}.csr`, ...by, '-extfile', extensionFile, '-out', file);
}

/** Makes all certificates and the administrator's kubeconfig. */
export async function makeCertificates() {
  mkdirSync(run('pki'), { recursive: true, mode: 0o700 });
  const authority = ['-subj', '/CN=caribou-lab', '-days', days, '-keyout', authorityKey, '-out', certificate.authority];
  await openssl('req', '-x509', ...curve, ...authority);
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];
  const addresses = [services.api, machines.control, '127.0.0.1'];
  const alternatives = [...names.map((name) => `DNS:${name}`), ...addresses.map((address) => `IP:${address}`)];
  await sign({
    subject: '/CN=kube-apiserver',
    key: certificate.serverKey,
    file: certificate.server,
    extensions: `extendedKeyUsage=serverAuth\nsubjectAltName=${alternatives.join(',')}\n`,
  });
  await sign({
    subject: '/O=system:masters/CN=admin',
    key: certificate.adminKey,
    file: certificate.admin,
    extensions: 'extendedKeyUsage=clientAuth\n',
  });
  await openssl('genrsa', '-out', certificate.accounts, '2048');
  writeKubeconfig();
}

/** A kubeconfig that contains what it needs, so that it can be copied. */
function writeKubeconfig() {
  const content = (/** @type {string} */ file) => readFileSync(file).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'lab',
        cluster: {
          server: `https://${machines.control}:${apiPort}`,
          'certificate-authority-data': content(certificate.authority),
        },
      },
    ],
    users: [
      {
        name: 'admin',
        user: {
          'client-certificate-data': content(certificate.admin),
          'client-key-data': content(certificate.adminKey),
        },
      },
    ],
    contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'admin' } }],
    'current-context': 'lab',
  };
  writeFileSync(kubeconfig, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
}
