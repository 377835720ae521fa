import { dnsImage } from './image-archives.mjs';
import { services } from './layout.mjs';

/** What a new cluster gets: names of services by DNS, and volumes for claims. */

const dnsLabels = { 'k8s-app': 'kube-dns' };
const rules = `.:53 {
  errors
  health :8080
  ready :8181
  kubernetes cluster.local in-addr.arpa {
    pods insecure
  }
  cache 5
}
`;

const dnsPod = {
  serviceAccountName: 'coredns',
  priorityClassName: 'system-cluster-critical',
  tolerations: [{ operator: 'Exists' }],
  dnsPolicy: 'Default',
  containers: [
    {
      name: 'coredns',
      image: dnsImage,
      imagePullPolicy: 'Never',
      args: ['-conf', '/etc/coredns/Corefile'],
      resources: { requests: { cpu: '20m', memory: '40Mi' }, limits: { memory: '170Mi' } },
      volumeMounts: [{ name: 'rules', mountPath: '/etc/coredns', readOnly: true }],
      readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 2 },
      livenessProbe: { httpGet: { path: '/health', port: 8080 }, initialDelaySeconds: 30 },
    },
  ],
  volumes: [{ name: 'rules', configMap: { name: 'coredns' } }],
};

const dns = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'coredns', namespace: 'kube-system' } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'lab:coredns' },
    rules: [
      { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'lab:coredns' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'lab:coredns' },
    subjects: [{ kind: 'ServiceAccount', name: 'coredns', namespace: 'kube-system' }],
  },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'coredns', namespace: 'kube-system' },
    data: { Corefile: rules },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'coredns', namespace: 'kube-system', labels: dnsLabels },
    spec: { selector: { matchLabels: dnsLabels }, template: { metadata: { labels: dnsLabels }, spec: dnsPod } },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kube-dns', namespace: 'kube-system', labels: dnsLabels },
    spec: {
      clusterIP: services.dns,
      selector: dnsLabels,
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP' },
      ],
    },
  },
];

const storageClass = 'lab';
const volumes = 40;
const volumeFolder = '/var/lib/kubelet/lab-volumes';

/** The folders of the volumes, seen from the node. */
export const volumeFolders = Array.from({ length: volumes }, (_, index) => `${volumeFolder}/${index}`);

/**
 * Folders of one node as volumes. The class binds a claim when its pod is scheduled, and the volumes are all on the first node.
 *
 * @param {import('./layout.mjs').LabNode} node
 */
const storage = (node) => [
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: storageClass, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  },
  ...Array.from({ length: volumes }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `lab-${index}` },
    spec: {
      capacity: { storage: '20Gi' },
      accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: storageClass,
      // Unlike a path of the host, a local volume is given to the group of its pod.
      local: { path: `${volumeFolder}/${index}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node.name] }] },
          ],
        },
      },
    },
  })),
];

/** All objects, as one list for `kubectl apply`. @param {import('./layout.mjs').LabNode} firstNode */
export const clusterParts = (firstNode) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...dns, ...storage(firstNode)] });
