import type { ClusterSettings } from './settings.js';

/** The S3 server of the cluster, in a namespace of its own. */
export const STORE = { namespace: 'caribou-objects', bucket: 'caribou', port: 7070, keyId: 'S3RVER', secret: 'S3RVER' };
export const STORE_URL = `http://objects.${STORE.namespace}.svc.cluster.local:${STORE.port}`;

const labels = { app: 'objects' };

const container = (image: string): object => ({
  name: 'objects',
  image,
  imagePullPolicy: 'Never',
  ports: [{ containerPort: STORE.port }],
  readinessProbe: { tcpSocket: { port: STORE.port }, periodSeconds: 2 },
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
  resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '1Gi' } },
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
});

/** One pod whose objects are on a volume, so that they outlive it. */
export const objectStore = ({ images }: ClusterSettings): readonly object[] => [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: STORE.namespace } },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'objects', namespace: STORE.namespace },
    spec: {
      serviceName: 'objects',
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 5,
          securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, runAsNonRoot: true },
          containers: [container(images.objects)],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
        },
      ],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'objects', namespace: STORE.namespace },
    spec: { selector: labels, ports: [{ port: STORE.port }] },
  },
];
