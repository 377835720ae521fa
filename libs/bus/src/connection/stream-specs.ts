import { streams } from '@caribou/contracts';
import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';
import type { StreamRole } from './bus.js';

/**
 * Version of the settings in this file, written into the description of each stream and consumer. Raise it with every
 * change that a running system must apply: processes of an older version then leave streams and consumers alone.
 */
export const SPEC_VERSION = 1;
const DESCRIPTION = `Caribou, specification ${SPEC_VERSION}`;

/** Returns the version that created a stream or consumer; 0 when none is recorded. */
export const specVersionOf = (description = ''): number =>
  Number(/^Caribou, specification (\d{1,9})$/.exec(description)?.[1] ?? 0);

const DAY_MS = 86_400_000;
const MAX_WAITING_JOBS = 1_000_000;
const MAX_DEAD_LETTER_BYTES = 64 * 1024 * 1024;

export interface StreamSpec {
  readonly name: string;
  readonly stream: Partial<StreamConfig> & { readonly name: string };
  readonly consumer: (Partial<ConsumerConfig> & { readonly durable_name: string }) | undefined;
}

export interface StreamSettings {
  readonly ackWaitMs: number;
  readonly maxAckPending: number;
  /** Number of copies of each stream in a cluster of NATS servers. */
  readonly replicas: number;
}

/** The settings of a stream; only those that nats-server 2.9 supports. */
export function streamSpec(role: StreamRole, settings: StreamSettings): StreamSpec {
  const { name, subjects, consumer } = streams[role];
  const isQueue = role !== 'deadLetters';
  const stream = isQueue ? workQueue(name, subjects) : deadLetterStream(name, subjects);
  return {
    name,
    stream: { ...stream, description: DESCRIPTION, num_replicas: settings.replicas },
    consumer: isQueue ? puller(consumer, settings) : undefined,
  };
}

/** A subject has at most one waiting job; the server refuses the second, which its publisher treats as success. */
const workQueue = (name: string, subjects: readonly string[]): StreamSpec['stream'] => ({
  name,
  subjects: [...subjects],
  retention: RetentionPolicy.Workqueue,
  storage: StorageType.File,
  discard: DiscardPolicy.New,
  max_msgs_per_subject: 1,
  discard_new_per_subject: true,
  max_msgs: MAX_WAITING_JOBS,
});

const deadLetterStream = (name: string, subjects: readonly string[]): StreamSpec['stream'] => ({
  name,
  subjects: [...subjects],
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  discard: DiscardPolicy.Old,
  max_bytes: MAX_DEAD_LETTER_BYTES,
  max_age: nanos(30 * DAY_MS),
});

/** Deliveries are not counted against a job: the run record has the number of attempts. */
const puller = (name: string, { ackWaitMs, maxAckPending }: StreamSettings): StreamSpec['consumer'] => ({
  durable_name: name,
  description: DESCRIPTION,
  ack_policy: AckPolicy.Explicit,
  deliver_policy: DeliverPolicy.All,
  ack_wait: nanos(ackWaitMs),
  max_deliver: -1,
  max_ack_pending: maxAckPending,
});
