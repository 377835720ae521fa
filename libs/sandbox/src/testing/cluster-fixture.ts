import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyMirrors } from '@caribou/files';
import {
  AGENT_FOLDER,
  buildAgentFolder,
  FakeApiServer,
  FakeKubelet,
  freePort,
  missingForPodSchema,
  NODE_ADDRESS,
  openPodSchema,
  testSandboxSettings,
} from '@caribou/testing';
import type { SandboxNetwork } from '../drivers/sandbox-network.js';
import type { SandboxSettings } from '../drivers/settings.js';
import { KubernetesDriver } from '../kubernetes/kubernetes-driver.js';
import { seccompFilter } from '../syscalls/seccomp.js';
import { NAMESPACE } from './api-fixture.js';
import { SUITE_LIMITS } from './driver-suites.js';

const GiB = 1024 ** 3;

export interface ClusterFixture {
  readonly server: FakeApiServer;
  readonly kubelet: FakeKubelet;
  readonly failures: unknown[];
  settingsOf(homeDir: string, changes?: Partial<SandboxSettings>): Promise<SandboxSettings>;
  /** A driver whose probe has passed. */
  make(homeDir: string, network?: SandboxNetwork, changes?: Partial<SandboxSettings>): Promise<KubernetesDriver>;
  /** New pods may connect to everything on this machine, until the result is called. */
  allowAll(): () => void;
  close(): Promise<void>;
}

/** A cluster whose node starts pods with the agent of this repository. Drivers are closed with it. */
export async function openFakeCluster(): Promise<ClusterFixture> {
  const folder = await buildAgentFolder();
  const checkSchema = missingForPodSchema() === null ? { checkSchema: openPodSchema() } : {};
  const server = await new FakeApiServer({ namespace: NAMESPACE, ...checkSchema }).start();
  const proxies: number[] = [];
  let isOpen = false;
  const kubelet = new FakeKubelet({
    ...{ server, image: { [AGENT_FOLDER]: folder }, egress: () => (isOpen ? 'all' : { ports: proxies }) },
    seccomp: seccompFilter(process.arch),
  });
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigText(server.url, server.token), { mode: 0o600 });
  const drivers: KubernetesDriver[] = [];
  const failures: unknown[] = [];

  const settingsOf: ClusterFixture['settingsOf'] = async (homeDir, changes = {}) => {
    const proxyPort = await freePort();
    proxies.push(proxyPort);
    const settings = testSandboxSettings(homeDir, { driver: 'kubernetes', limits: SUITE_LIMITS });
    return {
      ...settings,
      mirrors: copyMirrors(homeDir, { maxBytes: GiB, maxFileBytes: GiB }),
      onBackgroundFailure: (error) => void failures.push(error),
      ...changes,
      kubernetes: { ...settings.kubernetes, kubeconfig, proxyPort, proxyHost: NODE_ADDRESS, ...changes.kubernetes },
    };
  };
  return {
    ...{ server, kubelet, failures, settingsOf },
    allowAll: () => {
      isOpen = true;
      return () => {
        isOpen = false;
      };
    },
    make: async (homeDir, network, changes) => {
      const settings = await settingsOf(homeDir, { ...changes, ...(network === undefined ? {} : { network }) });
      const driver = new KubernetesDriver(settings);
      drivers.push(driver);

      const probe = await driver.probe();

      if (!probe.ok) throw new Error(probe.reason);
      return driver;
    },
    close: async () => {
      await Promise.all(drivers.map((driver) => driver.close()));
      await kubelet.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const kubeconfigText = (server: string, token: string): string =>
  JSON.stringify({
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server } }],
    users: [{ name: 'test', user: { token } }],
  });
