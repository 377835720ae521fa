import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@caribou/testing';
import type { Random } from '../chaos/random.js';
import {
  COMPONENTS,
  componentLabel,
  deploymentOf,
  type Installation,
  RELEASE,
  rolled,
  SANDBOX_LABEL,
  SANDBOXES,
} from './installation.js';
import { command, isReady, type Kubectl, type PodObject } from './kubectl.js';
import type { ClusterSettings } from './settings.js';

/** What is done to the cluster while it works. */
export interface FaultPorts {
  readonly kubectl: Kubectl;
  readonly settings: ClusterSettings;
  readonly installation: Installation;
  readonly random: Random;
  readonly say: (line: string) => void;
  /** How often each thing was done. */
  readonly counts: Record<string, number>;
}

const ROLL_MS = 4 * 60_000;
const AWAY_MS = 60_000;

const count = ({ counts }: FaultPorts, what: string): void => void (counts[what] = (counts[what] ?? 0) + 1);

/** One runner, three, and one again. */
export async function scaleRunners(ports: FaultPorts): Promise<void> {
  for (const replicas of [3, 1]) {
    const args = ['scale', '-n', RELEASE.namespace, deploymentOf('agent-runner'), `--replicas=${replicas}`];
    await ports.kubectl.run(args);
    await rolled(ports.kubectl, 'agent-runner', ROLL_MS);
    await waitFor(async () => (await runningPods(ports.kubectl, 'agent-runner')).length === replicas, {
      what: `${replicas} runners`,
      timeoutMs: ROLL_MS,
      everyMs: 500,
    });
    count(ports, 'scalings');
    await sleep(5_000);
  }
}

const runningPods = (kubectl: Kubectl, component: (typeof COMPONENTS)[number]): Promise<readonly PodObject[]> =>
  kubectl.pods(RELEASE.namespace, componentLabel(component));

/** New pods for every service, one service after the other. */
export async function rollEverything(ports: FaultPorts): Promise<void> {
  for (const component of COMPONENTS) {
    await ports.kubectl.run(['rollout', 'restart', '-n', RELEASE.namespace, deploymentOf(component)]);
    await rolled(ports.kubectl, component, ROLL_MS);
    count(ports, 'rolled deployments');
  }
}

/** Pods without a volume of one node: volumes of the lab are on its first one. */
const MOVABLE = 'app.kubernetes.io/component notin (nats,redis),app!=objects,k8s-app!=kube-dns';

/** Empties every node, one after the other. */
export async function drainNodes(ports: FaultPorts): Promise<void> {
  const { kubectl } = ports;
  for (const { metadata } of await kubectl.list(['nodes'])) {
    const args = ['drain', metadata.name, '--ignore-daemonsets', '--delete-emptydir-data', '--force'];
    await kubectl.run([...args, '--pod-selector', MOVABLE, `--timeout=${ROLL_MS / 1_000}s`], {
      timeoutMs: ROLL_MS + 10_000,
    });
    await kubectl.run(['uncordon', metadata.name]);
    for (const component of COMPONENTS) await rolled(kubectl, component, ROLL_MS);
    count(ports, 'drained nodes');
  }
}

/** An image that no node has: the new pods do not start, the old ones go on working, and the release is put back. */
export async function unpullableImage(ports: FaultPorts): Promise<void> {
  const { kubectl, installation } = ports;
  await installation.upgrade(['image.tag=missing', 'image.pullPolicy=IfNotPresent'], { wait: false });
  await waitFor(
    async () => /ErrImagePull|ImagePullBackOff/.test(await kubectl.run(['get', 'pods', '-n', RELEASE.namespace])),
    { what: 'pods whose image cannot be pulled', timeoutMs: ROLL_MS, everyMs: 500 },
  );
  await sleep(10_000);
  await installation.upgrade();
  count(ports, 'images that cannot be pulled');
}

const QUOTA = 'no-further-pods';

/** The namespace of the sandboxes may have no further pod for a while. */
export async function quotaExceeded(ports: FaultPorts): Promise<void> {
  const { kubectl } = ports;
  await kubectl.apply([
    {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: QUOTA, namespace: SANDBOXES },
      spec: { hard: { pods: '0' } },
    },
  ]);
  await sleep(15_000);
  await kubectl.run(['delete', 'resourcequota', '-n', SANDBOXES, QUOTA]);
  count(ports, 'exceeded quotas');
}

/** The API server is away for a minute. */
export async function apiServerAway(ports: FaultPorts): Promise<void> {
  await controlPlane(ports, 'stop', 'kube-apiserver');
  await sleep(AWAY_MS);
  await controlPlane(ports, 'start', 'kube-apiserver');
  await answers(ports);
  count(ports, 'outages of the API server');
}

/** etcd is killed, and started again at once. */
export async function etcdRestarted(ports: FaultPorts): Promise<void> {
  await controlPlane(ports, 'stop', 'etcd');
  await controlPlane(ports, 'start', 'etcd');
  await answers(ports);
  count(ports, 'restarts of etcd');
}

async function controlPlane({ settings }: FaultPorts, action: 'stop' | 'start', program: string): Promise<void> {
  const [file = '', ...args] = settings.lab ?? [];
  await command(file, [...args, action, program]);
}

const answers = ({ kubectl }: FaultPorts): Promise<boolean> =>
  waitFor(async () => (await kubectl.run(['get', '--raw', '/readyz'], { timeoutMs: 5_000 })).startsWith('ok'), {
    what: 'the API server to answer',
    timeoutMs: 120_000,
    everyMs: 500,
  });

/** Kills and deletes pods at random for so long. */
export async function randomLosses(ports: FaultPorts, minutes: number, meanPauseMs: number): Promise<void> {
  const { random } = ports;
  const endMs = performance.now() + minutes * 60_000;
  while (performance.now() < endMs) {
    await sleep(meanPauseMs * (0.4 + 1.2 * random.next()));
    const kind = random.weighted({ killService: 4, deleteService: 4, deleteSandbox: 4, killSandbox: 2 });
    const pods = kind.endsWith('Service')
      ? await runningPods(ports.kubectl, random.pick(COMPONENTS))
      : await ports.kubectl.pods(SANDBOXES, SANDBOX_LABEL);
    const alive = pods.filter(isReady);
    if (alive.length === 0) continue;
    const pod = random.pick(alive);
    if (kind.startsWith('kill')) killContainers(pod);
    else await deletePod(ports, pod);
    count(ports, kind);
  }
}

async function deletePod({ kubectl, random }: FaultPorts, { metadata }: PodObject): Promise<void> {
  const { name, namespace = '' } = metadata;
  const how = random.chance(0.5) ? ['--grace-period=0', '--force'] : [];
  await kubectl.run(['delete', 'pod', '-n', namespace, name, '--wait=false', '--ignore-not-found', ...how]);
}

const GROUPS = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'];

/** Sends SIGKILL to every process of a pod's containers, but not to the one that holds the pod's namespaces. */
function killContainers({ metadata }: PodObject): void {
  for (const pid of GROUPS.flatMap((root) => processesOf(root, metadata.uid))) {
    try {
      if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'pause') process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && ['ESRCH', 'ENOENT'].includes(String(error.code)))) throw error;
    }
  }
}

/** The processes in control groups of a pod below those of the lab. */
function processesOf(root: string, uid: string): readonly number[] {
  const labs = readdirSync(root).filter((name) => name.startsWith('caribou-lab-'));
  const groups = labs.flatMap((lab) =>
    readdirSync(join(root, lab), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.includes(`pod${uid}`) && path.endsWith('cgroup.procs'))
      .map((path) => join(root, lab, path)),
  );
  return groups.flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number));
}
