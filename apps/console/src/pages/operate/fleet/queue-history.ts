import type { QueueKind, QueuesReply } from '@caribou/contracts';

/** How much waited in the queues at one time. */
export interface QueueSample {
  readonly atMs: number;
  readonly lengths: Readonly<Partial<Record<QueueKind, number>>>;
}

/** A quarter of an hour at one sample every five seconds. */
export const MAX_SAMPLES = 180;
/** Rows of the table beside the charts. */
const TABLE_ROWS = 12;

/** The samples with those of a reply; one that is known already changes nothing. */
export function addSample(samples: readonly QueueSample[], { at, queues }: QueuesReply): readonly QueueSample[] {
  const atMs = Date.parse(at);
  if (atMs <= (samples.at(-1)?.atMs ?? 0)) return samples;
  const lengths = Object.fromEntries(queues.map(({ kind, length }) => [kind, length]));
  return [...samples, { atMs, lengths }].slice(-MAX_SAMPLES);
}

/** Times in seconds and lengths of one queue, as a chart takes them; null where the queue was not reported. */
export const seriesOf = (
  samples: readonly QueueSample[],
  kind: QueueKind,
): readonly [times: readonly number[], lengths: readonly (number | null)[]] => [
  samples.map(({ atMs }) => atMs / 1_000),
  samples.map(({ lengths }) => lengths[kind] ?? null),
];

/** A few samples over the whole time, the newest first. */
export function tableSamples(samples: readonly QueueSample[]): readonly QueueSample[] {
  const step = Math.max(1, Math.ceil(samples.length / TABLE_ROWS));
  return samples.filter((_, index) => (samples.length - 1 - index) % step === 0).reverse();
}
