import type { Dependencies } from '../dependencies.js';
import type { DueCrons } from '../crons/due-crons.js';
import { Deliveries } from '../webhooks/deliveries.js';
import { startDelayedRuns } from './delayed-starts.js';
import { TimerLoop } from './timer-loop.js';

/** Longest pause between two looks whether a collection is due. */
const COLLECT_MS = 600_000;

/** What gateways do without a request: runs of crons, delayed runs, deliveries to webhooks, and the removal of
 * objects that no file needs. Every gateway does all of it. */
export class Timers {
  private readonly loops: readonly TimerLoop[];
  private readonly deliveries: Deliveries;
  private readonly stopCollection: () => void;

  constructor(dependencies: Dependencies, crons: DueCrons) {
    const { delayedRuns: runs, outbox, threadStore: threads, webhookFetch: fetch } = dependencies;
    const { bus, dispatchTurn, settings, metrics, logger, fileCollection: files } = dependencies;
    this.stopCollection = () => files?.stop();
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
      ...(files === null
        ? []
        : [new TimerLoop({ name: 'files', tick: () => files.tick(), maxPauseMs: COLLECT_MS, logger })]),
    ];
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  async stop(): Promise<void> {
    this.stopCollection();
    await Promise.all([...this.loops.map((loop) => loop.stop()), this.deliveries.stop()]);
  }
}
