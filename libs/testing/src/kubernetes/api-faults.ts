export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  readonly isWatch: boolean;
}

/** What goes wrong with a request. */
export interface ApiFault {
  readonly on: (request: AskedRequest) => boolean;
  /** How many requests; default 1. */
  readonly times?: number;
  /** The status of the answer; absent: the connection is cut. */
  readonly status?: number;
  readonly message?: string;
  readonly reason?: string;
  /** Header of the answer, in seconds. */
  readonly retryAfter?: number;
  /** The request is carried out, and only its answer is another one. */
  readonly isDone?: boolean;
  /** No answer at all. */
  readonly hangs?: boolean;
}

/** Faults that a fake API server has on demand, and how many requests have met each. */
export class ApiFaults {
  private readonly faults: { readonly fault: ApiFault; left: number; met: number }[] = [];

  /** Adds a fault; the result says how many requests have met it. */
  add(fault: ApiFault): { met(): number; end(): void } {
    const entry = { fault, left: fault.times ?? 1, met: 0 };
    this.faults.push(entry);
    return { met: () => entry.met, end: () => void (entry.left = 0) };
  }

  /** The fault of a request, which counts as met. */
  of(request: AskedRequest): ApiFault | undefined {
    const entry = this.faults.find(({ fault, left }) => left > 0 && fault.on(request));
    if (entry === undefined) return undefined;
    entry.left -= 1;
    entry.met += 1;
    return entry.fault;
  }
}
