import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FakeApiServer } from './fake-api-server.js';
import type { Json, StoredEvent, StoredPod } from './fake-cluster.js';
import { type AllowedEgress, createPodNetwork, openNodeAddress, type PodNetwork } from './pod-network.js';
import { type PodProcess, startPodProcess } from './pod-process.js';

export interface FakeKubeletOptions {
  readonly server: FakeApiServer;
  readonly image: Readonly<Record<string, string>>;
  readonly seccomp: Buffer | null;
  /** What the network policy of the namespace allows, asked for each pod. */
  readonly egress: () => AllowedEgress;
}

/** A pod that this node has. */
interface LocalPod {
  readonly uid: string;
  readonly folder: string;
  network?: PodNetwork;
  process?: PodProcess;
  /** Resolves when nothing of it runs any more. */
  ended: Promise<void>;
  isEnding?: boolean;
}

/** What a node does with a pod: starts it, or leaves it in a state with this change of its status. */
export type PodFate = 'start' | ((status: Json) => void);

const CONTAINER = 'sandbox';

/**
 * A scheduler and a node that start the pods of a fake API server as processes of this machine, in namespaces of their
 * own, and end them as the API says. Needs root.
 */
export class FakeKubelet {
  /** Decides about each new pod. */
  fate: (pod: StoredPod) => PodFate = () => 'start';
  private readonly pods = new Map<string, LocalPod>();
  private readonly root = mkdtempSync(join(tmpdir(), 'caribou-kubelet-'));
  private readonly stopFollowing: () => void;
  private isLost = false;

  constructor(private readonly options: FakeKubeletOptions) {
    openNodeAddress();
    // The user of a pod reaches its volumes by their path.
    chmodSync(this.root, 0o711);
    this.stopFollowing = options.server.cluster.follow((event) => this.onEvent(event));
  }

  /** Pods of which something may still run. */
  get count(): number {
    return this.pods.size;
  }

  /** From now on the node does nothing that the API says, and what runs on it continues. */
  lose(): void {
    this.isLost = true;
  }

  /** Ends a pod as a node does that has too little of something. */
  evict(name: string, message: string): void {
    this.fail(name, (status) => Object.assign(status, { phase: 'Failed', reason: 'Evicted', message }));
  }

  /** Ends a pod with this change of its status. */
  fail(name: string, change: (status: Json) => void): void {
    const pod = this.options.server.cluster.get(name);
    if (pod === undefined) return;
    const { uid } = pod.metadata;
    this.options.server.cluster.change(name, uid, ({ status }) => change(status));
    void this.pods.get(uid)?.process?.cgroups.killAll();
  }

  /** Ends all pods and removes what they had on this machine. */
  async close(): Promise<void> {
    this.stopFollowing();
    await Promise.all([...this.pods.values()].map((pod) => this.end(pod)));
    rmSync(this.root, { recursive: true, force: true });
  }

  private onEvent({ type, pod }: StoredEvent): void {
    const { uid, name, deletionTimestamp } = pod.metadata;
    const local = this.pods.get(uid);
    if (type === 'ADDED') this.schedule(pod);
    else if (this.isLost || local === undefined) return;
    else if (type === 'DELETED') void this.end(local);
    else if (deletionTimestamp !== undefined)
      void this.end(local).then(() => this.options.server.cluster.remove(name, uid));
  }

  private schedule(pod: StoredPod): void {
    const { uid, name } = pod.metadata;
    const fate = this.fate(pod);
    const local: LocalPod = { uid, folder: join(this.root, name), ended: Promise.resolve() };
    this.pods.set(uid, local);
    if (fate !== 'start') {
      setImmediate(() => this.options.server.cluster.change(name, uid, ({ status }) => fate(status)));
      return;
    }
    local.ended = this.start(local, pod).catch((error: unknown) => this.onStartFailure(pod, error));
  }

  private async start(local: LocalPod, pod: StoredPod): Promise<void> {
    const { name } = pod.metadata;
    mkdirSync(local.folder);
    const network = await createPodNetwork(this.options.egress());
    local.network = network;
    const { image, seccomp } = this.options;
    const started = startPodProcess({
      ...{ name: `caribou-${process.pid}-${name}`, spec: pod.spec, network, folder: local.folder, image, seccomp },
    });
    local.process = started;
    if (local.isEnding === true) void started.cgroups.killAll();
    let stderr = '';
    started.child.stderr?.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-2_000)));
    const ended = new Promise<void>((resolve) => {
      started.child.on('close', (code, signal) => {
        // Its first process may outlive the one that has started it.
        void started.cgroups.killAll().then(() => {
          this.onEnd(pod, { code: code ?? (signal === null ? 1 : 137), stderr });
          resolve();
        });
      });
    });
    local.ended = ended;
    this.options.server.cluster.change(name, local.uid, (stored) => {
      stored.spec['nodeName'] = 'node-1';
      Object.assign(stored.status, {
        phase: 'Running',
        podIP: network.address,
        conditions: [{ type: 'PodScheduled', status: 'True' }],
        containerStatuses: [{ name: CONTAINER, state: { running: {} } }],
      });
    });
    await ended;
  }

  private onStartFailure(pod: StoredPod, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const { name, uid } = pod.metadata;
    this.options.server.cluster.change(name, uid, ({ status }) => {
      status['containerStatuses'] = [
        { name: CONTAINER, state: { waiting: { reason: 'CreateContainerError', message } } },
      ];
    });
  }

  /** The status of a pod whose process has ended by itself. */
  private onEnd(pod: StoredPod, { code, stderr }: { readonly code: number; readonly stderr: string }): void {
    const { name, uid } = pod.metadata;
    const isOutOfMemory = this.pods.get(uid)?.process?.cgroups.wasOutOfMemory() === true;
    const terminated = { exitCode: code, reason: isOutOfMemory ? 'OOMKilled' : 'Error', message: stderr };
    if (this.isLost) return;
    this.options.server.cluster.change(name, uid, ({ status }) => {
      // Who has ended it has said why.
      if (status['phase'] === 'Failed') return;
      status['phase'] = status['phase'] === 'Running' ? (code === 0 ? 'Succeeded' : 'Failed') : status['phase'];
      status['containerStatuses'] = [{ name: CONTAINER, state: { terminated } }];
    });
  }

  private async end(local: LocalPod): Promise<void> {
    local.isEnding = true;
    await local.process?.cgroups.killAll();
    await local.ended;
    if (!this.pods.delete(local.uid)) return;
    await local.network?.remove();
    local.process?.cgroups.remove();
    rmSync(local.folder, { recursive: true, force: true });
  }
}
