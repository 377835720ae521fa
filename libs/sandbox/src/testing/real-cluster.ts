import { copyMirrors } from '@caribou/files';
import { freePort, testSandboxSettings } from '@caribou/testing';
import type { SandboxNetwork } from '../drivers/sandbox-network.js';
import type { SandboxSettings } from '../drivers/settings.js';
import { KubernetesDriver } from '../kubernetes/kubernetes-driver.js';
import { SUITE_LIMITS } from './driver-suites.js';

const GiB = 1024 ** 3;
const MiB = 1024 * 1024;
/** Memory of the agent's Node and of a command. */
const MEMORY_BYTES = 512 * MiB;

/**
 * A cluster to test on, by variables: KUBECONFIG_TEST names the kubeconfig, and KUBERNETES_TEST_… the namespace, the image, the address and
 * port of this machine for pods, and whether network policies have to be enforced.
 */
export interface RealCluster {
  make(
    homeDir: string,
    network?: SandboxNetwork,
    limits?: Partial<SandboxSettings['limits']>,
  ): Promise<KubernetesDriver>;
  close(): Promise<void>;
}

const variable = (name: string): string | undefined => process.env[`KUBERNETES_TEST_${name}`];

/** Why there is no cluster to test on, or null. */
export function missingForCluster(): string | null {
  if (process.env['KUBECONFIG_TEST'] === undefined) return 'KUBECONFIG_TEST names no kubeconfig of a cluster';
  for (const name of ['NAMESPACE', 'IMAGE', 'PROXY_HOST'])
    if (variable(name) === undefined) return `KUBERNETES_TEST_${name} is not set`;
  return null;
}

/** Drivers on the cluster that the variables name; they are closed with it. */
export function openRealCluster(): RealCluster {
  const drivers: KubernetesDriver[] = [];
  return {
    make: async (homeDir, network, limits) => {
      const settings = testSandboxSettings(homeDir, {
        driver: 'kubernetes',
        limits: { ...SUITE_LIMITS, memoryBytes: MEMORY_BYTES, cpus: 0.5, ...limits },
      });
      const driver = new KubernetesDriver({
        ...settings,
        ...(network === undefined ? {} : { network }),
        mirrors: copyMirrors(homeDir, { maxBytes: GiB, maxFileBytes: GiB }),
        kubernetes: {
          ...settings.kubernetes,
          installation: `test-${process.pid}`,
          kubeconfig: process.env['KUBECONFIG_TEST'] ?? '',
          namespace: variable('NAMESPACE') ?? '',
          image: variable('IMAGE') ?? '',
          imagePullPolicy: 'IfNotPresent',
          proxyHost: variable('PROXY_HOST') ?? '',
          proxyPort: Number(variable('PROXY_PORT') ?? (await freePort())),
          requireNetworkPolicy: variable('REQUIRE_NETWORK_POLICY') !== 'false',
        },
      });
      drivers.push(driver);
      const probe = await driver.probe();
      if (!probe.ok) throw new Error(probe.reason);
      process.stderr.write(`${probe.detail}\n`);
      return driver;
    },
    close: async () => {
      await Promise.all(drivers.map((driver) => driver.close()));
    },
  };
}
