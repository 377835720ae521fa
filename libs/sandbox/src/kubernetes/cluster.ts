import { newId } from '@caribou/contracts';
import { systemClock } from '@caribou/core';
import type { SandboxSettings } from '../drivers/settings.js';
import { type ApiAccess, openAccess } from './api/api-access.js';
import { ApiConnection } from './api/api-connection.js';
import { type PodsApi, podsApi } from './api/pods-api.js';
import { watchPods } from './api/watch-pods.js';
import { LEASE_MS, ORPHAN_MS } from './pod-session.js';
import { podSelector } from './pods/pod-names.js';
import { PodRemover } from './pods/pod-remover.js';
import { PodStarter } from './pods/pod-starter.js';
import { PodWatcher } from './pods/pod-watcher.js';

/** What a driver has of a cluster: the pods of one namespace, and what creates, follows and deletes them. */
export interface Cluster {
  /** The manager whose pods these are. */
  readonly managerId: string;
  readonly api: PodsApi;
  readonly watcher: PodWatcher;
  readonly remover: PodRemover;
  readonly starter: PodStarter;
  close(): Promise<void>;
}

/** The failures that no caller sees: of watches and of deletions that are repeated. */
export type ClusterFailure = (error: unknown) => void;

/** @throws {ApiFailure | ConfigError} when there is no access to a cluster */
export async function openCluster(settings: SandboxSettings, onFailure: ClusterFailure): Promise<Cluster> {
  return clusterAt(await openAccess(settings.kubernetes.kubeconfig), settings, onFailure);
}

function clusterAt(access: ApiAccess, settings: SandboxSettings, onFailure: ClusterFailure): Cluster {
  const clock = systemClock;
  const { namespace, installation } = settings.kubernetes;
  const managerId = settings.managerId ?? newId();
  const connection = new ApiConnection(access);
  const api = podsApi(connection, namespace, { clock, random: Math.random });
  // Those of all managers: one that takes a thread over waits for the end of another one's pod.
  const selector = podSelector(installation);
  const watcher = new PodWatcher({
    ...{ api, selector, clock, onFailure, random: Math.random },
    watch: (resourceVersion, signal) => watchPods(connection, { namespace, selector, resourceVersion, signal }),
  });
  const remover = new PodRemover({ api, watcher, clock, leaseMs: LEASE_MS, onFailure });
  const starter = new PodStarter({ settings, api, watcher, remover, clock, orphanMs: ORPHAN_MS });
  watcher.start();
  remover.start();
  const close = async (): Promise<void> => {
    await Promise.all([watcher.stop(), remover.stop()]);
    connection.close();
  };
  return { managerId, api, watcher, remover, starter, close };
}
