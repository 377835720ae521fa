import { AppError } from '@caribou/contracts';
import type { BucketName, RequestBuckets } from '@caribou/state';

/** Buckets that are remembered; the least recently used one is forgotten first and is full when it is seen again. */
const MAX_BUCKETS = 10_000;
/** Maximum debt of a bucket, as the time to refill it to zero. */
const MAX_DEBT_SECONDS = 60;
/** Part of the remaining tokens that a gateway spends before it reports them to the shared bucket. */
const REPORTED_PART = 0.1;
/** Reports under way at once. Further buckets report later. */
const MAX_REPORTS = 100;
/** Time without reports of a bucket after one that failed. */
const RETRY_MS = 1_000;

export interface TokenRate {
  /** Tokens added per second. */
  readonly perSecond: number;
  /** Most tokens of a bucket. */
  readonly burst: number;
}

interface Bucket {
  level: number;
  atMs: number;
  /** Tokens spent here since the last report to the shared bucket. */
  unreported: number;
  reporting: boolean;
  reportAgainAtMs: number;
}

/**
 * Token buckets of one kind, with those of the other gateways behind them. A request is decided by the bucket of this
 * gateway and waits for nothing. After a tenth of its tokens the gateway reports them to the bucket in Redis, which all
 * gateways share, and lowers its own bucket to the level of the shared one. A user far below the limit so costs a command
 * for many requests; a user at the limit costs one command at a time. While Redis is unavailable, each gateway continues
 * with its own bucket.
 */
export class TokenBuckets {
  private readonly buckets = new Map<string, Bucket>();
  private reports = 0;

  constructor(
    private readonly kind: BucketName['kind'],
    readonly rate: TokenRate,
    private readonly shared: RequestBuckets,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Milliseconds until the bucket has a token; 0 when it has one. */
  waitMs(id: string): number {
    const { level } = this.refill(id);
    return level < 1 ? Math.ceil(((1 - level) / this.rate.perSecond) * 1_000) : 0;
  }

  /** Removes tokens, also more than there are: the bucket then has a debt, which is bounded. */
  spend(id: string, tokens: number): void {
    const bucket = this.refill(id);
    bucket.level = Math.max(bucket.level - tokens, this.lowest);
    bucket.unreported += tokens;
    if (this.isReportDue(bucket)) void this.report(id, bucket);
  }

  /** Whole tokens that are left, and the milliseconds until the bucket is full. */
  state(id: string): { readonly remaining: number; readonly fullInMs: number } {
    const { level } = this.refill(id);
    const { perSecond, burst } = this.rate;
    return { remaining: Math.max(0, Math.floor(level)), fullInMs: ((burst - level) / perSecond) * 1_000 };
  }

  private get lowest(): number {
    return -this.rate.perSecond * MAX_DEBT_SECONDS;
  }

  private isReportDue({ level, unreported, reporting, reportAgainAtMs }: Bucket): boolean {
    if (unreported < Math.max(1, level * REPORTED_PART)) return false;
    return !reporting && this.reports < MAX_REPORTS && this.nowMs() >= reportAgainAtMs;
  }

  private async report(id: string, bucket: Bucket): Promise<void> {
    const tokens = bucket.unreported;
    bucket.unreported = 0;
    bucket.reporting = true;
    this.reports += 1;
    try {
      const left = await this.shared.spend({ kind: this.kind, id }, tokens, { ...this.rate, lowest: this.lowest });
      bucket.level = Math.min(bucket.level, left - bucket.unreported);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      bucket.reportAgainAtMs = this.nowMs() + RETRY_MS;
    } finally {
      bucket.reporting = false;
      this.reports -= 1;
    }
  }

  private refill(id: string): Bucket {
    const { perSecond, burst } = this.rate;
    const nowMs = this.nowMs();
    const bucket = this.buckets.get(id) ?? { ...FULL, level: burst, atMs: nowMs };
    bucket.level = Math.min(burst, bucket.level + ((nowMs - bucket.atMs) / 1_000) * perSecond);
    bucket.atMs = nowMs;
    this.buckets.delete(id);
    this.buckets.set(id, bucket);
    if (this.buckets.size > MAX_BUCKETS) this.forgetOldest();
    return bucket;
  }

  private forgetOldest(): void {
    const [oldest] = this.buckets.keys();
    if (oldest !== undefined) this.buckets.delete(oldest);
  }
}

const FULL = { unreported: 0, reporting: false, reportAgainAtMs: 0 };
