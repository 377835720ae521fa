import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@caribou/core';
import { FakeKubelet } from '@caribou/testing';
import type { SandboxSettings } from '../drivers/settings.js';
import { watchPods } from '../kubernetes/api/watch-pods.js';
import { podSelector } from '../kubernetes/pods/pod-names.js';
import { PodRemover } from '../kubernetes/pods/pod-remover.js';
import { type PodPurpose, PodStarter } from '../kubernetes/pods/pod-starter.js';
import { PodWatcher } from '../kubernetes/pods/pod-watcher.js';
import { type ApiFixture, kubernetesSettings, NAMESPACE, openApi } from './api-fixture.js';

export interface PodFixture extends ApiFixture {
  readonly kubelet: FakeKubelet;
  readonly watcher: PodWatcher;
  readonly remover: PodRemover;
  readonly failures: unknown[];
  starterWith(changes?: Partial<SandboxSettings['kubernetes']>): PodStarter;
}

export const purpose: PodPurpose = { prefix: 'caribou-test', labels: {}, annotations: {}, hasUserNamespace: true };

/** An agent's lease in tests of what happens at its end, in milliseconds. */
const LEASE_MS = 4_000;

/** Pods whose process 1 only answers questions about its health. */
export async function openPods(): Promise<PodFixture> {
  const fixture = await openApi();
  const { server, api, connection } = fixture;
  const folder = mkdtempSync(join(tmpdir(), 'caribou-agent-'));
  chmodSync(folder, 0o755);
  copyFileSync(process.execPath, join(folder, 'node'));
  copyFileSync(join(__dirname, 'health-server.js'), join(folder, 'sandbox-agent.js'));
  const image = { '/usr/local/lib/caribou': folder };
  const kubelet = new FakeKubelet({ server, image, seccomp: null, egress: () => ({ ports: [] }) });
  const failures: unknown[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  const selector = podSelector('caribou');
  const watcher = new PodWatcher({
    ...{ api, selector, onFailure, clock: systemClock, random: Math.random },
    watch: (resourceVersion, signal) =>
      watchPods(connection, { namespace: NAMESPACE, selector, resourceVersion, signal }),
  });
  const remover = new PodRemover({ ...{ api, watcher, onFailure, leaseMs: LEASE_MS }, clock: systemClock });
  watcher.start();
  remover.start();
  return {
    ...{ ...fixture, kubelet, watcher, remover, failures },
    starterWith: (changes) =>
      new PodStarter({
        ...{ api, watcher, remover, clock: systemClock, orphanMs: 60_000 },
        settings: kubernetesSettings(changes),
      }),
    close: async () => {
      await Promise.all([watcher.stop(), remover.stop()]);
      await kubelet.close();
      await fixture.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
