import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, missingForPodNetworks, waitFor } from '@caribou/testing';
import type { Probe } from '../drivers/driver.js';
import type { SandboxSettings } from '../drivers/settings.js';
import { type ClusterFixture, openFakeCluster } from '../testing/cluster-fixture.js';
import { KubernetesDriver } from './kubernetes-driver.js';

const reason = missingForPodNetworks();
const describeWithPods = reason === null ? describe : describe.skip;

let cluster: ClusterFixture;
let home: string;

/** What a probe finds with these changes of the settings; nothing of its pods is left. */
async function probeWith(changes: Partial<SandboxSettings> = {}): Promise<Probe> {
  const driver = new KubernetesDriver(await cluster.settingsOf(home, changes));
  try {
    const probe = await driver.probe();
    await waitFor(() => cluster.server.cluster.list().length === 0, { what: 'the end of the trial pods' });
    return probe;
  } finally {
    await driver.close();
  }
}
const withKubernetes = async (changes: Partial<SandboxSettings['kubernetes']>): Promise<Probe> => {
  const { kubernetes } = await cluster.settingsOf(home);
  return probeWith({ kubernetes: { ...kubernetes, ...changes } });
};

if (reason === null) {
  jest.setTimeout(60_000);
  beforeAll(async () => {
    cluster = await openFakeCluster();
    home = mkdtempSync(join(tmpdir(), 'caribou-probe-'));
    mkdirSync(join(home, 'skills'));
  });
  afterEach(() => {
    cluster.server.denied.clear();
    cluster.kubelet.fate = () => 'start';
    cluster.server.admit = () => undefined;
  });
  afterAll(async () => {
    await cluster.close();
    rmSync(home, { recursive: true, force: true });
  });
}

describeWithPods('the probe of KubernetesDriver', () => {
  test('passes with a pod that runs commands behind a network policy, and says what it has', async () => {
    expect(await probeWith()).toEqual({
      ok: true,
      detail: 'kubernetes: namespace caribou-sandboxes, a user namespace each, network policy enforced',
    });
  });

  test('takes pods without user namespaces where there are no others, unless they are asked for', async () => {
    cluster.server.admit = (pod) =>
      (pod['spec'] as { hostUsers?: boolean }).hostUsers === false ? 'no user namespaces here' : undefined;

    expect(await probeWith()).toMatchObject({ ok: true, detail: expect.stringContaining('a user each') });
    expect(await withKubernetes({ userNamespaces: true })).toEqual({
      ok: false,
      reason: expect.stringContaining('no user namespaces here'),
    });
  });

  test('names the rights that the service account lacks', async () => {
    cluster.server.denied.add('watch').add('delete');

    expect(await probeWith()).toEqual({
      ok: false,
      reason:
        'the service account of the sandbox-manager lacks the verbs watch, delete on "pods" in namespace caribou-sandboxes',
    });
  });

  test('names the namespace that does not exist, the image that cannot be pulled, and the server that does not answer', async () => {
    expect(await withKubernetes({ namespace: 'none', userNamespaces: false })).toMatchObject({
      reason: expect.stringContaining('sandbox.kubernetes.namespace does not exist'),
    });
    cluster.kubelet.fate = () => (status) => {
      const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "nowhere/image"' };
      status['containerStatuses'] = [{ name: 'sandbox', state: { waiting } }];
    };
    expect(await probeWith()).toMatchObject({
      reason: expect.stringContaining('Back-off pulling image "nowhere/image"'),
    });
    expect(await withKubernetes({ kubeconfig: '/none/kubeconfig' })).toMatchObject({
      reason: expect.stringContaining('sandbox.kubernetes.kubeconfig: cannot be read (ENOENT)'),
    });
  });

  test('refuses a cluster that does not enforce its network policies, unless that is accepted', async () => {
    const port = await freePort();
    // A pod connects to whatever it is allowed; here that is everything.
    const open = cluster.allowAll();

    expect(await probeWith()).toMatchObject({
      ok: false,
      reason: expect.stringContaining('the cluster does not enforce the network policy'),
    });
    expect(await withKubernetes({ requireNetworkPolicy: false, proxyPort: port })).toMatchObject({
      ok: true,
      detail: expect.stringContaining('NO network policy'),
    });
    open();
  });

  test('needs the address of this process to try the network, and a way to the egress proxy where hosts are allowed', async () => {
    const { kubernetes } = await cluster.settingsOf(home);
    const without = { ...kubernetes, proxyHost: undefined };
    const network = { serve: () => undefined };

    expect(await probeWith({ kubernetes: without as unknown as SandboxSettings['kubernetes'] })).toMatchObject({
      reason: expect.stringContaining('CARIBOU_POD_IP'),
    });
    expect(await probeWith({ network, kubernetes: { ...kubernetes, proxyPort: await freePort() } })).toMatchObject({
      reason: expect.stringContaining('must allow sandboxes to connect to sandbox.kubernetes.proxy_port'),
    });
  });

  test('says that the port of the egress proxy is taken', async () => {
    const server = createServer();
    server.listen(0);
    await once(server, 'listening');
    const address = server.address();
    const proxyPort = typeof address === 'object' && address !== null ? address.port : 0;
    const { kubernetes } = await cluster.settingsOf(home);

    expect(
      await probeWith({ network: { serve: () => undefined }, kubernetes: { ...kubernetes, proxyPort } }),
    ).toMatchObject({ reason: `sandbox.kubernetes.proxy_port: ${proxyPort} cannot be opened (EADDRINUSE)` });
    server.close();
  });
});
