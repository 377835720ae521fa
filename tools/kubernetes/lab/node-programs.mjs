import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { certificate } from './certificates.mjs';
import { pauseImage } from './image-archives.mjs';
import { built, kubeconfig, pods, services } from './layout.mjs';
import { startIn } from './namespaces.mjs';

/** The programs of a node: containerd with its network plugins, kubelet, kube-proxy, and the controller that enforces network policies. */

/** @typedef {import('./namespaces.mjs').Machine} Machine @typedef {import('./layout.mjs').LabNode} LabNode */

export const nodePrograms = ['containerd', 'kubelet', 'kube-proxy', 'policies'];

const socket = '/run/containerd/containerd.sock';
export const pluginFolder = '/usr/lib/cni';
/** The control group below which all of a node's are. @param {LabNode} node */
export const groupOf = ({ name }) => `caribou-lab-${name}`;

/**
 * Each pod has a link of its own to its node, which routes between them: so traffic between pods of one node passes the packet filter too.
 *
 * @param {LabNode} node
 */
const networkConfig = ({ pods: subnet }) => ({
  cniVersion: '0.4.0',
  name: 'lab',
  plugins: [
    {
      type: 'ptp',
      ipMasq: false,
      ipam: { type: 'host-local', ranges: [[{ subnet }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
});

/** @param {string} networks folder of the network configuration */
const containerdConfig = (networks) => `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # A machine may itself be a guest without the right to protect processes from the end of its memory.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${pluginFolder}"
    conf_dir = "${networks}"
`;

/** @param {LabNode} node */
const kubeletConfig = (node) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  containerRuntimeEndpoint: `unix://${socket}`,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${groupOf(node)}`,
  failCgroupV1: false,
  failSwapOn: false,
  address: node.address,
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: certificate.authority },
  },
  authorization: { mode: 'Webhook' },
  clusterDNS: [services.dns],
  clusterDomain: 'cluster.local',
  resolvConf: '',
  // A command that starts processes without end must not take those of the node.
  podPidsLimit: 1024,
  serializeImagePulls: false,
  volumePluginDir: '/var/lib/kubelet/volume-plugins',
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
  // Images are imported, and could not be pulled again.
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
});

/** @param {LabNode} node */
const proxyConfig = ({ name }) => ({
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  clientConnection: { kubeconfig },
  mode: 'iptables',
  hostnameOverride: name,
  clusterCIDR: pods,
  detectLocalMode: 'ClusterCIDR',
  iptables: { syncPeriod: '30s', minSyncPeriod: '200ms' },
  // Limits of the whole machine, which a namespace cannot set.
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
});

/** Writes the configuration of a node's programs. @param {LabNode} node */
export function configureNode(node) {
  const put = (/** @type {string} */ name, /** @type {string | object} */ content) =>
    writeFileSync(
      join(node.files, name),
      typeof content === 'string' ? content : JSON.stringify(content, undefined, 2),
    );
  const networks = join(node.files, 'networks');
  mkdirSync(networks, { recursive: true });
  put('networks/10-lab.conflist', networkConfig(node));
  put('containerd.toml', containerdConfig(networks));
  put('kubelet.json', kubeletConfig(node));
  put('kube-proxy.json', proxyConfig(node));
}

/** Starts one program of a node. @param {Machine} machine @param {LabNode} node @param {string} name one of `nodePrograms` */
export function startNodeProgram(machine, node, name) {
  const file = (/** @type {string} */ path) => join(node.files, path);
  const kubelet = ['--config', file('kubelet.json'), '--kubeconfig', kubeconfig, '--hostname-override', node.name];
  /** @type {Record<string, string[]>} */
  const commands = {
    containerd: ['containerd', '--config', file('containerd.toml')],
    kubelet: [built('kubelet'), ...kubelet, '--node-ip', node.address, '--cert-dir', file('kubelet-certificates')],
    'kube-proxy': [built('kube-proxy'), '--config', file('kube-proxy.json')],
    policies: [built('policies'), '--kubeconfig', kubeconfig, '--node', node.name, '--services', services.cidr],
  };
  const command = commands[name];
  if (command === undefined) throw new Error(`${name} is no program of a node`);
  startIn(machine, name, command);
}

/** The command by which ctr works on the images that a node's pods can use. */
export const ctr = ['ctr', '--address', socket, '--namespace', 'k8s.io'];
