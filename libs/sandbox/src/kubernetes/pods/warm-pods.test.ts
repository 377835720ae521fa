import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingForPodNetworks, waitFor } from '@caribou/testing';
import { type ClusterFixture, openFakeCluster } from '../../testing/cluster-fixture.js';
import type { KubernetesDriver } from '../kubernetes-driver.js';
import { POD_LABEL } from './pod-names.js';

const reason = missingForPodNetworks();
const describeWithPods = reason === null ? describe : describe.skip;

let cluster: ClusterFixture;
let home: string;
let driver: KubernetesDriver;
const sandbox = { sandboxId: 'caribou-cold', managerId: 'manager-1', userId: 'default', threadId: 't1' };
const pods = () => cluster.server.cluster.list();
const warmPods = () =>
  pods().filter(
    ({ metadata, status }) =>
      metadata.labels[POD_LABEL.warm] === 'true' &&
      status['phase'] === 'Running' &&
      metadata.deletionTimestamp === undefined,
  );
const untilWarm = (count: number) =>
  waitFor(() => driver.warmSandboxes() === count && warmPods().length === count, {
    what: `${count} warm pods`,
  });
const nameOf = (sandboxId: string): string | undefined =>
  pods().find(({ metadata }) => metadata.labels[POD_LABEL.sandbox] === sandboxId)?.metadata.name;

if (reason === null) {
  jest.setTimeout(60_000);
  beforeAll(async () => {
    cluster = await openFakeCluster();
    home = mkdtempSync(join(tmpdir(), 'caribou-warm-'));
    mkdirSync(join(home, 'skills'));
    const { kubernetes } = await cluster.settingsOf(home);
    driver = await cluster.make(home, undefined, {
      managerId: 'manager-1',
      kubernetes: { ...kubernetes, warmPods: 2 },
    });
    await untilWarm(2);
  });
  afterAll(async () => {
    await cluster.close();
    rmSync(home, { recursive: true, force: true });
  });
}

describeWithPods('WarmPods', () => {
  test('a thread gets a pod that runs already, and another one is made in its place', async () => {
    const before = warmPods().map(({ metadata }) => metadata.name);

    await driver.create({ ...sandbox, sandboxId: 'caribou-warm-1' }, { fresh: true });
    const name = nameOf('caribou-warm-1');

    expect(before).toContain(name);
    const command = { command: 'pwd', timeoutMs: 10_000, maxOutputBytes: 1_024 };
    expect(
      await driver.exec({ ...sandbox, sandboxId: 'caribou-warm-1' }, command, new AbortController().signal),
    ).toMatchObject({ stdout: '/mnt/user-data/workspace\n' });
    await untilWarm(2);
    expect(warmPods().map(({ metadata }) => metadata.name)).not.toContain(name);
  });

  test('a pod that has not changed since its last event is taken without reading it', async () => {
    const names = warmPods().map(({ metadata }) => metadata.name);
    const read = cluster.server.faults.add({
      on: ({ method, path }) => method === 'GET' && names.some((name) => path.endsWith(`/${name}`)),
      status: 500,
      reason: 'InternalError',
    });

    await driver.create({ ...sandbox, sandboxId: 'caribou-unread', threadId: 'unread' }, { fresh: true });

    expect(names).toContain(nameOf('caribou-unread'));
    expect(read.met()).toBe(0);
    read.end();
    await untilWarm(2);
  });

  test('two threads at the same time never get the same pod', async () => {
    const ids = ['caribou-a', 'caribou-b', 'caribou-c'];
    await Promise.all(
      ids.map((sandboxId) => driver.create({ ...sandbox, sandboxId, threadId: sandboxId }, { fresh: true })),
    );

    expect(new Set(ids.map(nameOf)).size).toBe(3);
    expect(ids.map(nameOf)).not.toContain(undefined);
    await untilWarm(2);
  });

  test('a pod that was changed meanwhile is read again, and one that is gone is not used', async () => {
    const conflict = cluster.server.faults.add({
      on: ({ method }) => method === 'PATCH',
      status: 409,
      reason: 'Conflict',
    });
    await driver.create({ ...sandbox, sandboxId: 'caribou-d', threadId: 'd' }, { fresh: true });
    expect(conflict.met()).toBe(1);
    await untilWarm(2);
    for (const { metadata } of warmPods()) cluster.server.cluster.remove(metadata.name, metadata.uid);

    await driver.create({ ...sandbox, sandboxId: 'caribou-e', threadId: 'e' }, { fresh: true });

    expect(nameOf('caribou-e')).toMatch(/^caribou-e-/);
    await untilWarm(2);
  });

  test('a pod whose agent has ended just before is found out by the first command, and replaced', async () => {
    const spec = { ...sandbox, sandboxId: 'caribou-f', threadId: 'f' };
    await driver.create(spec, { fresh: true });
    const { name = '', uid = '' } =
      pods().find(({ metadata }) => metadata.labels[POD_LABEL.sandbox] === 'caribou-f')?.metadata ?? {};
    cluster.server.cluster.remove(name, uid);
    await waitFor(() => pods().every(({ metadata }) => metadata.uid !== uid), { what: 'the end of the pod' });
    const command = { command: 'echo here', timeoutMs: 10_000, maxOutputBytes: 1_024 };

    await expect(driver.exec(spec, command, new AbortController().signal)).rejects.toMatchObject({
      name: 'SandboxGoneError',
    });
    await driver.create(spec, { fresh: false });
    expect(await driver.exec(spec, command, new AbortController().signal)).toMatchObject({ stdout: 'here\n' });
    await untilWarm(2);
  });

  test('are no sandboxes of their own manager, and leftovers for the others', async () => {
    const other = await cluster.make(home, undefined, { managerId: 'manager-2' });
    const warm = warmPods().map(({ metadata }) => metadata.name);

    expect((await driver.list()).map(({ sandboxId }) => sandboxId)).not.toEqual(expect.arrayContaining(warm));
    const listed = (await other.list()).filter(({ sandboxId }) => warm.includes(sandboxId));
    expect(listed).toMatchObject([{ managerId: 'manager-1' }, { managerId: 'manager-1' }]);
  });

  test('end with their manager', async () => {
    await driver.close();

    await waitFor(() => pods().length === 0, { what: 'the end of all pods' });
  });
});
