import { waitFor } from '@caribou/testing';
import { MODELS } from '../chaos/collect-history.js';
import { command, type Kubectl } from './kubectl.js';
import { objectStore, STORE, STORE_URL } from './object-store.js';
import { CHART, type ClusterSettings } from './settings.js';

export const RELEASE = { name: 'caribou', namespace: 'caribou' };
export const SANDBOXES = 'caribou-sandboxes';
export const SANDBOX_LABEL = 'app.kubernetes.io/name=caribou-sandbox';
export const COMPONENTS = ['gateway', 'agent-runner', 'sandbox-manager', 'memory-worker', 'subagent-pool'] as const;
export type Component = (typeof COMPONENTS)[number];

export const componentLabel = (component: Component): string =>
  `app.kubernetes.io/instance=${RELEASE.name},app.kubernetes.io/component=${component}`;
export const deploymentOf = (component: Component): string => `deployment/${RELEASE.name}-${component}`;

const PASSWORD = 'trial0password0of0the0lab';
const MIB = 1024 * 1024;
const INSTALL_MS = 6 * 60_000;

/** Where the test's own servers are, as pods reach them. */
export interface OwnServers {
  readonly modelUrl: string;
  readonly mcpUrl: string;
  readonly ports: readonly number[];
}

const resources = (memory: string): object => ({
  requests: { cpu: '20m', memory: '128Mi', 'ephemeral-storage': '64Mi' },
  limits: { cpu: '2', memory, 'ephemeral-storage': '8Gi' },
});

/** The values of the chart: a trial of everything, with the scripted model and a store in the cluster. */
function valuesOf({ images, host }: ClusterSettings, { modelUrl, mcpUrl, ports }: OwnServers): object {
  const [repository = '', tag = ''] = images.product.split(':');
  const here = { to: [{ ipBlock: { cidr: `${host}/32` } }], ports: ports.map((port) => ({ port, protocol: 'TCP' })) };
  const model = { OPENAI_BASE_URL: modelUrl, OPENAI_API_KEY: 'scripted' };
  const keys = { S3_ACCESS_KEY_ID: STORE.keyId, S3_SECRET_ACCESS_KEY: STORE.secret };
  const service = (secretValues: object, memory = '1Gi'): object => ({ secretValues, resources: resources(memory) });
  return {
    image: { repository, tag, pullPolicy: 'Never' },
    config: {
      models: Object.entries(MODELS).map(([name, id]) => ({
        ...{ name, model: id },
        pricing: { input: 2, cached_input: 1, output: 8 },
      })),
      title: { model_name: 'small' },
      memory: { model_name: 'small', debounce_seconds: 1, max_facts: 500 },
      tool_search: { enabled: false },
      clocks: { events_ttl_ms: 28_800_000 },
      sandbox: {
        ...{ max_boxes: 8, idle_ms: 30_000, reap_ms: 5_000 },
        // What a pod may use is reserved for it: many have to fit on the two processors of a small machine.
        limits: {
          cpus: 0.2,
          memory_bytes: 256 * MIB,
          tmp_bytes: 32 * MIB,
          workspace_bytes: 128 * MIB,
          command_timeout_ms: 60_000,
        },
      },
    },
    extensionsConfig: { mcpServers: { effects: { type: 'http', url: mcpUrl } } },
    gateway: { ...service({ ...model, ...keys }, '2Gi'), replicas: 2, allowUnauthenticated: true },
    agentRunner: { ...service(model), replicas: 1 },
    subagentPool: service(model),
    memoryWorker: service(model),
    sandboxManager: { ...service(keys), replicas: 2, drainSeconds: 95, terminationGracePeriodSeconds: 110 },
    // The containerd of the lab is too old for user namespaces.
    sandboxes: { namespace: SANDBOXES, image: images.sandbox, imagePullPolicy: 'Never', userNamespaces: false },
    nats: { trial: { enabled: true, image: images.nats, password: PASSWORD } },
    redis: { trial: { enabled: true, image: images.redis, password: PASSWORD }, fsync: 'always' },
    files: { s3: { bucket: STORE.bucket, endpoint: STORE_URL } },
    networkPolicies: {
      objectStore: { to: [{ namespaceSelector: {} }], ports: [STORE.port] },
      extraEgress: [here],
    },
  };
}

export interface Installation {
  /** Installs or changes the release; further values win. */
  upgrade(changes?: readonly string[], options?: { readonly wait?: boolean }): Promise<void>;
}

/** Installs the object store and the chart, and waits until a turn can run. */
export async function install(kubectl: Kubectl, settings: ClusterSettings, own: OwnServers): Promise<Installation> {
  await kubectl.apply(objectStore(settings));
  // One of an earlier run may still be on its way out.
  await waitFor(() => kubectl.run(['create', 'namespace', RELEASE.namespace]), {
    what: `a new namespace ${RELEASE.namespace}`,
    timeoutMs: 120_000,
    everyMs: 1_000,
  });
  const values = JSON.stringify(valuesOf(settings, own));
  const upgrade: Installation['upgrade'] = async (changes = [], { wait = true } = {}) => {
    const where = ['--kubeconfig', settings.kubeconfig, '--namespace', RELEASE.namespace];
    const waiting = wait ? ['--wait', '--timeout', `${INSTALL_MS / 1_000}s`] : [];
    const set = changes.flatMap((change) => ['--set', change]);
    const args = ['upgrade', '--install', RELEASE.name, CHART, ...where, '--values', '-', ...set, ...waiting];
    await command(settings.helm, args, { input: values, timeoutMs: INSTALL_MS + 60_000 });
  };
  await upgrade();
  await kubectl.apply([fromThisMachine(settings)]);
  return { upgrade };
}

/** The checker reads Redis and NATS, which the chart's policies open to the services only. */
const fromThisMachine = ({ hostRange }: ClusterSettings): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'checker', namespace: RELEASE.namespace },
  spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ ipBlock: { cidr: hostRange } }] }] },
});

/** The address of a Service of the release. */
export async function serviceAddress(kubectl: Kubectl, name: string): Promise<string> {
  const path = 'jsonpath={.spec.clusterIP}';
  return await kubectl.run(['get', 'service', '-n', RELEASE.namespace, `${RELEASE.name}-${name}`, '-o', path]);
}

export const serverUrls = async (kubectl: Kubectl) => ({
  redis: { url: `redis://:${PASSWORD}@${await serviceAddress(kubectl, 'redis')}:6379` },
  nats: { url: `nats://caribou:${PASSWORD}@${await serviceAddress(kubectl, 'nats')}:4222` },
});

/** Waits until a Deployment has been rolled. */
export async function rolled(kubectl: Kubectl, component: Component, timeoutMs = INSTALL_MS): Promise<void> {
  const limit = ['--timeout', `${timeoutMs / 1_000}s`];
  const args = ['rollout', 'status', '-n', RELEASE.namespace, deploymentOf(component), ...limit];
  await kubectl.run(args, { timeoutMs: timeoutMs + 10_000 });
}

/** Removes the release; no sandbox may outlive it. */
export async function uninstall(kubectl: Kubectl, { helm, kubeconfig }: ClusterSettings): Promise<void> {
  const where = ['--kubeconfig', kubeconfig, '--namespace', RELEASE.namespace];
  await command(helm, ['uninstall', RELEASE.name, ...where, '--wait', '--timeout', '180s'], { timeoutMs: 200_000 });
  await waitFor(async () => (await kubectl.pods(RELEASE.namespace, '')).length === 0, {
    what: 'the pods of the release to end',
    timeoutMs: 120_000,
    everyMs: 500,
  });
}
