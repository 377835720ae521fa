import { join, resolve } from 'node:path';

/** Parts of the scenario, in their order. */
const ALL_PHASES = ['scale', 'roll', 'drain', 'image', 'quota', 'api', 'etcd', 'losses'] as const;
export type Phase = (typeof ALL_PHASES)[number];

/** What tools/launcher/kubernetes.mjs says about the cluster, by environment. */
export interface ClusterSettings {
  readonly kubeconfig: string;
  readonly kubectl: string;
  readonly helm: string;
  /** The command line of the lab; undefined for a cluster of somebody else, whose control plane is left alone. */
  readonly lab: readonly string[] | undefined;
  /** The address of this machine as pods reach it. */
  readonly host: string;
  /** Addresses from which requests of this machine come. */
  readonly hostRange: string;
  readonly images: Readonly<Record<'product' | 'sandbox' | 'objects' | 'nats' | 'redis', string>>;
  readonly seed: number;
  /** How long pods are killed and deleted at random, in minutes. */
  readonly minutes: number;
  readonly lanes: number;
  readonly phases: readonly Phase[];
}

const repository = resolve(__dirname, '..', '..');
export const CHART = join(repository, 'deploy', 'helm', 'caribou');

const variable = (name: string, usual?: string): string => {
  const value = process.env[name] ?? usual;
  if (value === undefined || value === '')
    throw new Error(`${name} is not set: start this test by npm run test:kubernetes`);
  return value;
};

/** Why the scenario cannot run here, or null. */
export const missingCluster = (): string | null =>
  process.env['KUBERNETES_TEST_KUBECONFIG'] === undefined ? 'npm run test:kubernetes starts a cluster for it' : null;

export function clusterSettings(): ClusterSettings {
  const lab = process.env['KUBERNETES_TEST_LAB'];
  return {
    kubeconfig: variable('KUBERNETES_TEST_KUBECONFIG'),
    kubectl: variable('KUBERNETES_TEST_KUBECTL', 'kubectl'),
    helm: variable('KUBERNETES_TEST_HELM', 'helm'),
    lab: lab === undefined ? undefined : [process.execPath, lab],
    host: variable('KUBERNETES_TEST_HOST'),
    hostRange: variable('KUBERNETES_TEST_HOST_RANGE', `${variable('KUBERNETES_TEST_HOST')}/32`),
    images: JSON.parse(variable('KUBERNETES_TEST_IMAGES')) as ClusterSettings['images'],
    seed: Number(variable('KUBERNETES_TEST_SEED', '2718')),
    minutes: Number(variable('KUBERNETES_TEST_MINUTES', '10')),
    lanes: Number(variable('KUBERNETES_TEST_LANES', '8')),
    phases: phasesOf(variable('KUBERNETES_TEST_PHASES', ALL_PHASES.join())),
  };
}

function phasesOf(list: string): readonly Phase[] {
  const named = list.split(',');
  const unknown = named.find((name) => !ALL_PHASES.some((phase) => phase === name));
  if (unknown !== undefined) throw new Error(`there is no phase "${unknown}"; phases are ${ALL_PHASES.join(', ')}`);
  return ALL_PHASES.filter((phase) => named.includes(phase));
}
