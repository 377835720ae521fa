import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** `request` flows from the client to the target, `reply` back. */
export type Direction = 'request' | 'reply';

const TAIL_BYTES = 4 * 1024;

export interface ProxyRule {
  readonly effect: 'hold' | 'drop';
  /** Whose bytes are held or dropped. */
  readonly direction: Direction;
  /** The direction whose bytes are checked. */
  readonly lookIn: Direction;
  readonly matches: (seen: Buffer, chunk: Buffer) => boolean;
  readonly reach: () => void;
}

interface FlowOptions {
  readonly direction: Direction;
  readonly rules: readonly ProxyRule[];
  readonly delays: Readonly<Record<Direction, number>>;
}

/** One direction of one proxied connection; chunks leave in the order they came. */
export class ProxyFlow {
  private readonly caughtBy = new Set<ProxyRule>();
  private readonly tails = new Map<ProxyRule, Buffer>();
  private held: Buffer[] = [];
  private ended = false;
  private sending: Promise<void> = Promise.resolve();
  private other: ProxyFlow | undefined;

  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly options: FlowOptions,
  ) {
    from.on('data', (chunk: Buffer) => this.take(chunk));
    from.on('end', () => {
      this.ended = true;
      this.flush();
    });
    from.on('close', (hadError) => {
      if (hadError) to.destroy();
    });
  }

  /** Connects the two flows of a connection. */
  join(other: ProxyFlow): void {
    this.other = other;
    other.other = this;
  }

  release(rule: ProxyRule): void {
    this.tails.delete(rule);
    if (this.caughtBy.delete(rule)) this.flush();
  }

  private take(chunk: Buffer): void {
    for (const rule of this.options.rules) {
      if (rule.lookIn === this.options.direction) this.look(rule, chunk);
    }
    if (this.caught('drop')) return;
    this.held.push(chunk);
    // A held sender is not read any further, as by a network that is stuck.
    if (this.caught('hold')) this.from.pause();
    else this.flush();
  }

  private look(rule: ProxyRule, chunk: Buffer): void {
    const caughtFlow = rule.direction === this.options.direction ? this : this.other;
    if (caughtFlow === undefined || caughtFlow.caughtBy.has(rule)) return;
    const seen = Buffer.concat([this.tails.get(rule) ?? Buffer.alloc(0), chunk]);
    this.tails.set(rule, seen.subarray(-TAIL_BYTES));
    if (!rule.matches(seen, chunk)) return;
    caughtFlow.caughtBy.add(rule);
    rule.reach();
  }

  private caught(effect: ProxyRule['effect']): boolean {
    return [...this.caughtBy].some((rule) => rule.effect === effect);
  }

  private flush(): void {
    if (this.caught('hold')) return;
    const chunks = this.held;
    this.held = [];
    this.from.resume();
    const { ended } = this;
    const delayMs = this.options.delays[this.options.direction];
    this.sending = this.sending.then(async () => {
      if (delayMs > 0) await sleep(delayMs);
      for (const chunk of chunks) if (!this.to.destroyed) this.to.write(chunk);
      if (ended && !this.to.destroyed) this.to.end();
    });
  }
}
