import type { Random } from './random.js';

export const FAULT_KINDS = ['kill', 'pause', 'store', 'bus', 'jump', 'outage', 'failover'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** The fate of one request to the store or over the bus. */
export type Fate = 'ok' | 'slow' | 'lost' | 'reply-lost' | 'late' | 'twice';

/** The possible faults of one history, drawn from its seed. */
export class Faults {
  readonly on: ReadonlySet<FaultKind>;
  /** Where processes were killed, as `role operation phase`. */
  readonly killedAt = new Set<string>();
  readonly seenAt = new Set<string>();
  private left: number;
  private readonly rate: number;
  private active = true;

  constructor(
    private readonly random: Random,
    allowed: readonly FaultKind[],
  ) {
    this.on = drawKinds(random, allowed);
    this.left = random.whole(1, 7);
    this.rate = random.pick([0.004, 0.01, 0.03]);
  }

  /** No more faults from now on. */
  stop(): void {
    this.active = false;
  }

  has(kind: FaultKind): boolean {
    return this.active && this.left > 0 && this.on.has(kind);
  }

  /** Whether a fault of the kind happens now; it counts against the limit of the history. */
  strikes(kind: FaultKind, rate = this.rate): boolean {
    if (!this.has(kind) || !this.random.chance(rate)) return false;
    this.left -= 1;
    return true;
  }

  /** Whether the process dies at this point of its work. */
  killsAt(role: string, point: string): boolean {
    const name = `${role} ${point}`;
    this.seenAt.add(name);
    if (!this.strikes('kill')) return false;
    this.killedAt.add(name);
    return true;
  }

  fate(kind: 'store' | 'bus'): Fate {
    if (!this.strikes(kind, 2 * this.rate)) return 'ok';
    return this.random.pick(kind === 'store' ? STORE_FATES : BUS_FATES);
  }
}

const STORE_FATES: readonly Fate[] = ['slow', 'lost', 'reply-lost', 'late'];
const BUS_FATES: readonly Fate[] = ['slow', 'lost', 'reply-lost', 'twice'];

/** Histories with one kind are frequent, as their findings have one cause. A failover is always alone, as it breaks promises. */
function drawKinds(random: Random, allowed: readonly FaultKind[]): ReadonlySet<FaultKind> {
  const single = random.pick(allowed);
  if (single === 'failover' || random.chance(0.35)) return new Set([single]);
  return new Set([single, ...allowed.filter((kind) => kind !== 'failover' && random.chance(0.5))]);
}
