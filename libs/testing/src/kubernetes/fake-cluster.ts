import { randomUUID } from 'node:crypto';

export type Json = Record<string, unknown>;

/** A pod as the API has it. */
export interface StoredPod extends Json {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    creationTimestamp: string;
    deletionTimestamp?: string;
    deletionGracePeriodSeconds?: number;
    labels: Record<string, string>;
    annotations: Record<string, string>;
  };
  spec: Json;
  status: Json;
}

export interface StoredEvent {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly pod: StoredPod;
}

type Follower = (event: StoredEvent) => void;

/** Events that a watch can still ask for. */
const MAX_EVENTS = 2_000;
const FIRST_VERSION = 1_000;

/** The store of a fake API server: pods of one namespace with their versions, and the events since some version. */
export class FakeCluster {
  private readonly pods = new Map<string, StoredPod>();
  private readonly followers = new Set<Follower>();
  private events: StoredEvent[] = [];
  private current = FIRST_VERSION;
  private oldest = FIRST_VERSION;

  constructor(readonly namespace: string) {}

  get version(): number {
    return this.current;
  }

  list(): readonly StoredPod[] {
    return [...this.pods.values()].map((pod) => structuredClone(pod));
  }

  get(name: string): StoredPod | undefined {
    const pod = this.pods.get(name);
    return pod === undefined ? undefined : structuredClone(pod);
  }

  /** Adds a pod that no name is taken for. */
  add(manifest: Json & { metadata: Json & { name: string } }): StoredPod {
    const { metadata, spec } = manifest;
    const pod: StoredPod = {
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: {
        ...{ labels: {}, annotations: {} },
        ...metadata,
        namespace: this.namespace,
        uid: randomUUID(),
        resourceVersion: '',
        creationTimestamp: new Date().toISOString(),
      },
      spec: spec as Json,
      status: { phase: 'Pending', conditions: [], containerStatuses: [] },
    };
    this.pods.set(pod.metadata.name, pod);
    return this.record('ADDED', pod);
  }

  /** Changes a pod; undefined when it does not exist any more, or is not the one with this uid. */
  change(name: string, uid: string, change: (pod: StoredPod) => void): StoredPod | undefined {
    const pod = this.pods.get(name);
    if (pod?.metadata.uid !== uid) return undefined;
    change(pod);
    return this.record('MODIFIED', pod);
  }

  remove(name: string, uid: string): void {
    const pod = this.pods.get(name);
    if (pod?.metadata.uid !== uid) return;
    this.pods.delete(name);
    this.record('DELETED', pod);
  }

  /** Events after a version; null when some of them are forgotten. */
  since(version: number): readonly StoredEvent[] | null {
    return version < this.oldest ? null : this.events.filter((event) => event.version > version);
  }

  /** Forgets all events: a watch of an older version is answered with 410. */
  compact(): void {
    this.current += 1;
    this.oldest = this.current;
    this.events = [];
  }

  follow(follower: Follower): () => void {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  private record(type: StoredEvent['type'], pod: StoredPod): StoredPod {
    this.current += 1;
    pod.metadata.resourceVersion = String(this.current);
    const event = { version: this.current, type, pod: structuredClone(pod) };
    this.events.push(event);
    if (this.events.length > MAX_EVENTS) this.oldest = this.events.shift()?.version ?? this.oldest;
    for (const follower of this.followers) follower(event);
    return structuredClone(pod);
  }
}
