import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingForPodNetworks, waitFor } from '@caribou/testing';
import type { CommandResult, SandboxSpec } from '../drivers/driver.js';
import { type ClusterFixture, openFakeCluster } from '../testing/cluster-fixture.js';
import type { KubernetesDriver } from './kubernetes-driver.js';
import { POD_LABEL } from './pods/pod-names.js';

const reason = missingForPodNetworks();
const describeWithPods = reason === null ? describe : describe.skip;

let cluster: ClusterFixture;
let home: string;
let driver: KubernetesDriver;
const sandbox: SandboxSpec = { sandboxId: 'caribou-faults', managerId: 'm1', userId: 'default', threadId: 't1' };
const run = (command: string, by = driver, spec = sandbox): Promise<CommandResult> =>
  by.exec(spec, { command, timeoutMs: 30_000, maxOutputBytes: 8_192 }, new AbortController().signal);
const pods = () => cluster.server.cluster.list();
const podOf = (spec: SandboxSpec) => {
  const found = pods().find(
    ({ metadata }) => metadata.labels[POD_LABEL.sandbox] === spec.sandboxId && metadata.deletionTimestamp === undefined,
  );
  if (found === undefined) throw new Error(`no pod of ${spec.sandboxId}`);
  return found.metadata;
};
/** Resolves when a command runs that writes `begun` first. */
async function begin(command: string): Promise<{ readonly ended: Promise<CommandResult> }> {
  let begun = false;
  const request = { command: `echo begun; ${command}`, timeoutMs: 60_000, maxOutputBytes: 8_192 };
  const ended = driver.exec(sandbox, { ...request, onOutput: () => (begun = true) }, new AbortController().signal);
  ended.catch(() => undefined);
  await waitFor(() => begun, { what: 'the command' });
  return { ended };
}

if (reason === null) {
  jest.setTimeout(60_000);
  beforeAll(async () => {
    cluster = await openFakeCluster();
    home = mkdtempSync(join(tmpdir(), 'caribou-faults-'));
    mkdirSync(join(home, 'skills'));
    driver = await cluster.make(home);
  });
  beforeEach(() => driver.create(sandbox, { fresh: true }));
  afterAll(async () => {
    await cluster.close();
    rmSync(home, { recursive: true, force: true });
  });
}

describeWithPods('a pod that ends', () => {
  test('between commands is a SandboxGoneError with what became of it, and files are as before in the next one', async () => {
    await run('echo kept > kept');
    const { name, uid } = podOf(sandbox);
    cluster.server.cluster.remove(name, uid);
    await waitFor(() => pods().length === 0, { what: 'the end of the pod' });

    await expect(run('echo no')).rejects.toMatchObject({
      name: 'SandboxGoneError',
      message: 'kubernetes: the pod of the sandbox was deleted',
    });
    expect(await driver.isAlive(sandbox)).toBe(false);
    await driver.create(sandbox, { fresh: false });
    expect(await run('cat kept')).toMatchObject({ stdout: 'kept\n' });
  });

  test('under a command leaves its outcome unknown, with the reason of the eviction', async () => {
    const { ended } = await begin('sleep 60');
    cluster.kubelet.evict(podOf(sandbox).name, 'Usage of EmptyDir volume "user-data" exceeds the limit "4Gi".');

    await expect(ended).rejects.toMatchObject({
      name: 'UnavailableError',
      message: expect.stringContaining('the pod was evicted: Usage of EmptyDir volume "user-data" exceeds the limit'),
    });
  });

  test('for want of memory gives the command a result that says so', async () => {
    const { ended } = await begin('sleep 60');
    const terminated = { exitCode: 137, reason: 'OOMKilled' };
    cluster.kubelet.fail(podOf(sandbox).name, (status) => {
      Object.assign(status, { phase: 'Failed', containerStatuses: [{ name: 'sandbox', state: { terminated } }] });
    });

    expect(await ended).toMatchObject({
      ...{ exitCode: 137, endedBy: 'exit' },
      stderr: expect.stringContaining('the memory of the sandbox is used up'),
    });
  });
});

describeWithPods('an API server that is away', () => {
  test('does not disturb commands of pods that run, and says why there are no new ones', async () => {
    const port = Number(new URL(cluster.server.url).port);
    await cluster.server.stop();
    try {
      expect(await run('echo still')).toMatchObject({ stdout: 'still\n' });
      expect(await driver.isAlive(sandbox)).toBe(true);
      await expect(driver.list()).rejects.toThrow(/the API server does not answer: nothing listens/);
      await expect(driver.create({ ...sandbox, sandboxId: 'another' }, { fresh: true })).rejects.toMatchObject({
        code: 'unavailable',
      });
    } finally {
      await cluster.server.start(port);
    }
    expect(await driver.list()).toHaveLength(1);
  }, 120_000);

  test('refuses with its reason: a used-up quota leaves no pod', async () => {
    cluster.server.admit = () => 'exceeded quota: sandboxes, requested: pods=1, used: pods=5, limited: pods=5';
    const other = { ...sandbox, sandboxId: 'beyond-the-quota' };
    try {
      await expect(driver.create(other, { fresh: true })).rejects.toThrow(
        /the quota of namespace caribou-sandboxes is used up: .*limited: pods=5/,
      );
    } finally {
      cluster.server.admit = () => undefined;
    }
    expect(pods().filter(({ metadata }) => metadata.labels[POD_LABEL.sandbox] === other.sandboxId)).toEqual([]);
  });
});

describeWithPods('managers', () => {
  test('take a thread over: the earlier pod ends with its command, also where its node is cut off from the other manager', async () => {
    const { ended } = await begin('sleep 60');
    const earlier = podOf(sandbox).name;
    const successor = await cluster.make(home);
    const taken = { ...sandbox, managerId: 'm2' };

    await successor.create(taken, { fresh: true });

    await expect(ended).rejects.toMatchObject({ name: 'UnavailableError' });
    expect(podOf(taken).name).not.toBe(earlier);
    expect(await run('echo mine', successor, taken)).toMatchObject({ stdout: 'mine\n' });
    await expect(run('echo no')).rejects.toMatchObject({ name: 'SandboxGoneError' });
    await successor.remove(taken);
  });

  test('list sandboxes with whose they are, and remove the very pod that was listed', async () => {
    const [listed] = await driver.list();
    expect(listed).toEqual({
      ...sandbox,
      running: true,
      instance: expect.stringMatching(/^caribou-faults-[\da-f]{8}\//),
    });
    if (listed === undefined) throw new Error('nothing listed');
    await driver.create(sandbox, { fresh: true });

    await driver.removeInstance(listed);
    expect(await run('echo here')).toMatchObject({ stdout: 'here\n' });
    const [current] = await driver.list();
    if (current === undefined) throw new Error('nothing listed');
    await driver.removeInstance(current);
    expect([await driver.list(), await driver.isAlive(sandbox)]).toEqual([[], false]);
  });

  test('see sandboxes of their installation only, in a domain that names the cluster and the namespace', async () => {
    const settings = await cluster.settingsOf(home);
    const other = await cluster.make(home, undefined, {
      kubernetes: { ...settings.kubernetes, installation: 'other' },
    });

    expect(await other.list()).toEqual([]);
    expect(await other.domain()).toBe(`${cluster.server.url}/caribou-sandboxes`);
  });
});

describeWithPods('a sandbox whose files cannot be opened', () => {
  test('has no pod, and the reason is the disk', async () => {
    const spec = { ...sandbox, sandboxId: 'caribou-no-files', userId: 'without', threadId: 't2' };
    mkdirSync(join(home, 'users'), { recursive: true });
    writeFileSync(join(home, 'users', 'without'), 'a file where a directory has to be');

    await expect(driver.create(spec, { fresh: true })).rejects.toMatchObject({
      name: 'UnavailableError',
      message: expect.stringMatching(/files of the thread cannot be opened .*ENOTDIR/),
    });
    await waitFor(() => pods().every(({ metadata }) => metadata.labels[POD_LABEL.sandbox] !== spec.sandboxId), {
      what: 'the end of its pod',
    });
  });
});
