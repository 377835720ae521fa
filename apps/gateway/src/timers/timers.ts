import type { Dependencies } from '../dependencies.js';
import type { DueCrons } from '../crons/due-crons.js';
import { Deliveries } from '../webhooks/deliveries.js';
import { startDelayedRuns } from './delayed-starts.js';
import { TimerLoop } from './timer-loop.js';

/** What gateways do without a request: runs of crons, delayed runs, deliveries to webhooks. Every gateway does all of it. */
export class Timers {
  private readonly loops: readonly TimerLoop[];
  private readonly deliveries: Deliveries;

  constructor(dependencies: Dependencies, crons: DueCrons) {
    const { delayedRuns: runs, outbox, threadStore: threads, webhookFetch: fetch } = dependencies;
    const { bus, dispatchTurn, settings, metrics, logger } = dependencies;
    const { webhooks, timerMs } = settings;
    const common = { maxPauseMs: timerMs, logger };
    const delivering = new TimerLoop({ ...common, name: 'webhook', tick: () => this.deliveries.tick() });
    this.deliveries = new Deliveries(
      { outbox, threads, fetch, metrics, logger },
      {
        maxAtOnce: webhooks.maxAtOnce,
        maxBodyBytes: webhooks.maxBodyBytes,
        retryMs: webhooks.retryMs,
        secrets: webhooks.secrets.map((secret) => secret.reveal()),
      },
      () => delivering.wake(),
    );
    const ports = { runs, bus, dispatchTurn, metrics, logger };
    this.loops = [
      new TimerLoop({ ...common, name: 'cron', tick: () => crons.tick() }),
      new TimerLoop({ ...common, name: 'delay', tick: () => startDelayedRuns(ports) }),
      delivering,
    ];
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.loops.map((loop) => loop.stop()), this.deliveries.stop()]);
  }
}
