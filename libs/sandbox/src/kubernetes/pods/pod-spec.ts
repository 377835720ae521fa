import { createHash } from 'node:crypto';
import { omitUndefined } from '@caribou/contracts';
import { SKILLS_ROOT, VIRTUAL_ROOT } from '@caribou/core';
import type { SandboxSettings } from '../../drivers/settings.js';
import type { PodManifest } from '../api/pod.js';
import { POD_ANNOTATION, POD_LABEL, SANDBOX_APP } from './pod-names.js';

/** The user of the agent and its commands in a user namespace, whose name is in the image; and the group of all pods. */
export const POD_USER = 10_001;
/** Process 1 of a pod; the image has it (docker/sandbox). */
export const AGENT_COMMAND = ['/usr/local/lib/caribou/node', '/usr/local/lib/caribou/sandbox-agent.js'] as const;
/** Name of the one container of a pod. */
export const CONTAINER = 'sandbox';
/** Files outside of the volumes: the kubelet's own, and what a program writes to the container's log. */
const SPARE_BYTES = 64 * 1024 * 1024;
/** Where the agent writes the skills that commands find, read-only, at their usual path. */
export const SKILLS_FOR_AGENT = '/run/caribou-agent/skills';
/** Skills of a user that a pod may have. */
const SKILLS_BYTES = 256 * 1024 * 1024;
/** The agent ignores SIGTERM, which commands could send; SIGKILL follows after this time. */
const GRACE_SECONDS = 1;
/** A trial pod ends after this time, whatever becomes of its manager. */
const TRIAL_SECONDS = 600;

/** What differs from pod to pod. */
export interface PodIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** The agent's environment; readable by commands. */
  readonly agentEnvironment: Readonly<Record<string, string>>;
  /** Whether the pod has a user namespace of its own. */
  readonly hasUserNamespace: boolean;
  /** The user of the agent and its commands. */
  readonly user: number;
  readonly isTrial?: boolean;
}

export type PodSettings = Pick<SandboxSettings, 'image' | 'limits' | 'kubernetes'>;

interface Volume {
  readonly name: string;
  readonly mountPath: string;
  readonly sizeBytes: number;
  readonly inMemory?: boolean;
}

/** The directories that a pod may write to: nothing of the node is mounted. The agent makes those of a thread in one. */
const volumesOf = ({ limits, kubernetes }: PodSettings): readonly Volume[] => [
  { name: 'user-data', mountPath: VIRTUAL_ROOT, sizeBytes: kubernetes.workspaceBytes },
  { name: 'skills', mountPath: SKILLS_FOR_AGENT, sizeBytes: SKILLS_BYTES },
  { name: 'tmp', mountPath: '/tmp', sizeBytes: limits.tmpBytes, inMemory: true },
  { name: 'shm', mountPath: '/dev/shm', sizeBytes: limits.tmpBytes, inMemory: true },
];

/** Requests are limits: a sandbox gets what it may use, and a node is never overbooked. */
function resourcesOf({ limits, kubernetes }: PodSettings) {
  const bounds = {
    cpu: `${Math.round(limits.cpus * 1_000)}m`,
    memory: String(limits.memoryBytes),
    'ephemeral-storage': String(kubernetes.workspaceBytes + SKILLS_BYTES + SPARE_BYTES),
  };
  return { requests: bounds, limits: bounds };
}

/** What the pod security standard "restricted" asks for, and a root file system that nobody can write to. */
const containerSecurity = (user: number) => ({
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  privileged: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: user,
  runAsGroup: POD_USER,
  seccompProfile: { type: 'RuntimeDefault' },
});

function containerOf(settings: PodSettings, { agentEnvironment, user }: PodIdentity) {
  const { image, kubernetes } = settings;
  return {
    name: CONTAINER,
    image: kubernetes.image ?? image,
    command: [...AGENT_COMMAND],
    imagePullPolicy: kubernetes.imagePullPolicy,
    env: Object.entries(agentEnvironment).map(([name, value]) => ({ name, value })),
    ports: [{ name: 'agent', containerPort: kubernetes.agentPort, protocol: 'TCP' }],
    resources: resourcesOf(settings),
    securityContext: containerSecurity(user),
    terminationMessagePolicy: 'File',
    volumeMounts: [
      ...volumesOf(settings).map(({ name, mountPath }) => ({ name, mountPath })),
      { name: 'skills', mountPath: SKILLS_ROOT, readOnly: true },
    ],
  };
}

const volumeOf = ({ name, sizeBytes, inMemory }: Volume) => ({
  name,
  emptyDir: { sizeLimit: String(sizeBytes), ...(inMemory === true ? { medium: 'Memory' } : {}) },
});

/**
 * The pod of a sandbox. It is never restarted: a sandbox whose agent has ended is replaced. It has no token of the
 * API, nothing of the node, and no environment with the addresses of other services.
 */
export function podManifest(settings: PodSettings, pod: PodIdentity): PodManifest {
  const { kubernetes } = settings;
  const { imagePullSecrets, nodeSelector, tolerations } = kubernetes;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: pod.name,
      namespace: kubernetes.namespace,
      labels: { [POD_LABEL.name]: SANDBOX_APP, [POD_LABEL.installation]: kubernetes.installation, ...pod.labels },
      annotations: { ...pod.annotations, [POD_ANNOTATION.settings]: settingsDigest(settings, pod.hasUserNamespace) },
    },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: GRACE_SECONDS,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      shareProcessNamespace: false,
      hostname: 'sandbox',
      // Names are resolved by the manager's proxy: no name server of the cluster is named in a sandbox.
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['127.0.0.1'] },
      securityContext: {
        runAsNonRoot: true,
        runAsUser: pod.user,
        runAsGroup: POD_USER,
        fsGroup: POD_USER,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...(pod.hasUserNamespace ? { hostUsers: false } : {}),
      ...(pod.isTrial === true ? { activeDeadlineSeconds: TRIAL_SECONDS } : {}),
      ...omitUndefined({ runtimeClassName: kubernetes.runtimeClass, serviceAccountName: kubernetes.serviceAccount }),
      ...(imagePullSecrets.length > 0 ? { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) } : {}),
      ...(Object.keys(nodeSelector).length > 0 ? { nodeSelector } : {}),
      ...(tolerations.length > 0 ? { tolerations } : {}),
      containers: [containerOf(settings, pod)],
      volumes: volumesOf(settings).map(volumeOf),
    },
  };
}

/** Identifies what pods are made of: a warm pod of other settings is not used. */
export function settingsDigest({ image, limits, kubernetes }: PodSettings, hasUserNamespace: boolean): string {
  const { warmPods: _count, startMs: _time, kubeconfig: _access, ...made } = kubernetes;
  const text = JSON.stringify([image, limits, made, hasUserNamespace]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
