import { certificate } from './certificates.mjs';
import { apiPort, built, kubeconfig, machines, pods, services } from './layout.mjs';
import { startIn } from './namespaces.mjs';

/** The programs of the control plane, all in one machine; etcd is reachable there only. */

/** @typedef {import('./namespaces.mjs').Machine} Machine */

const etcdUrl = 'http://127.0.0.1:2379';
const peerUrl = 'http://127.0.0.1:2380';

/** Nodes that are lost are noticed within a minute instead of six. */
const tolerationSeconds = 30;

/** @param {Machine} machine @returns {Record<string, string[]>} the command of each program, in the order of their start */
const commands = ({ files }) => ({
  etcd: [
    built('etcd'),
    ...['--data-dir', `${files}/etcd`, '--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
    ...[
      '--listen-peer-urls',
      peerUrl,
      '--initial-advertise-peer-urls',
      peerUrl,
      '--initial-cluster',
      `default=${peerUrl}`,
    ],
    // What is written survives the end of the process; the end of this machine ends the lab.
    '--unsafe-no-fsync',
  ],
  'kube-apiserver': [
    built('kube-apiserver'),
    ...['--etcd-servers', etcdUrl, '--bind-address', '0.0.0.0', '--secure-port', String(apiPort)],
    ...['--advertise-address', machines.control, '--service-cluster-ip-range', services.cidr],
    ...['--client-ca-file', certificate.authority],
    ...['--tls-cert-file', certificate.server, '--tls-private-key-file', certificate.serverKey],
    ...['--kubelet-client-certificate', certificate.admin, '--kubelet-client-key', certificate.adminKey],
    ...['--kubelet-preferred-address-types', 'InternalIP', '--allow-privileged', '--authorization-mode', 'Node,RBAC'],
    ...['--service-account-issuer', 'https://kubernetes.default.svc.cluster.local'],
    ...['--service-account-key-file', certificate.accounts, '--service-account-signing-key-file', certificate.accounts],
    ...['--default-not-ready-toleration-seconds', String(tolerationSeconds)],
    ...['--default-unreachable-toleration-seconds', String(tolerationSeconds)],
  ],
  'kube-controller-manager': [
    built('kube-controller-manager'),
    ...['--kubeconfig', kubeconfig, '--leader-elect=false', '--bind-address', '127.0.0.1', '--cluster-cidr', pods],
    ...['--service-account-private-key-file', certificate.accounts, '--root-ca-file', certificate.authority],
  ],
  'kube-scheduler': [
    built('kube-scheduler'),
    ...['--kubeconfig', kubeconfig, '--leader-elect=false', '--bind-address', '127.0.0.1'],
  ],
});

export const controlPrograms = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

/** Starts one program of the control plane. @param {Machine} machine @param {string} name one of `controlPrograms` */
export function startControlProgram(machine, name) {
  const command = commands(machine)[name];
  if (command === undefined) throw new Error(`${name} is no program of the control plane`);
  startIn(machine, name, command);
}
