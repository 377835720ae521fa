/** Until when commands may run, by the clock of this process. */
export class Lease {
  private untilMs = 0;
  private timer: NodeJS.Timeout | undefined;

  /** @param onLapse ends what runs */
  constructor(private readonly onLapse: () => void) {}

  get leftMs(): number {
    return Math.max(0, this.untilMs - performance.now());
  }

  /** Sets it to end in so many milliseconds. */
  hold(ms: number): void {
    clearTimeout(this.timer);
    this.untilMs = performance.now() + ms;
    this.timer = setTimeout(this.onLapse, ms);
  }
}
