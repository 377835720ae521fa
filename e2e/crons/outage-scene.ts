import { type ShiftedSystem, startShiftedSystem } from '../support/shifted-system.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';
import type { CatchUp, DueTimes } from './due-time-rule.js';

export interface OutagePlan {
  readonly catchUp: CatchUp;
  /** `crons.catch_up_ms`. */
  readonly catchUpMs: number;
  readonly schedule: string;
  /** Milliseconds between two due times of the schedule. */
  readonly stepMs: number;
  /** Due times of each cron that start runs before the outage. */
  readonly stepsBefore: number;
  readonly outageMs: number;
  /** The part of the outage in which Redis and NATS are away too, from 0 to 1. */
  readonly storesAway: readonly [from: number, to: number];
  /** How long everything may take to come to rest after the outage. */
  readonly patienceMs: number;
  readonly productionClocks: boolean;
  readonly say: (line: string) => void;
}

export interface OutageResult {
  /** Violations of what is promised, as text. */
  readonly faults: readonly string[];
  /** What became of the due times of each cron. */
  readonly crons: readonly DueTimes[];
  /** Runs that were announced once each. */
  readonly announcedRuns: number;
  /** Their ends waited for a gateway, or for the receiver. */
  readonly waitingEvents: number;
  readonly delayedRuns: number;
}

/** A system whose receiver of webhooks can be closed. */
export interface OutageScene {
  readonly plan: OutagePlan;
  readonly system: ShiftedSystem;
  readonly receiver: WebhookReceiver;
  isClosed: boolean;
  stop(): Promise<void>;
}

/** A run that is announced, and the earliest time of its start. */
export interface WaitingRun {
  readonly runId: string;
  readonly dueMs: number;
}

export async function openScene(plan: OutagePlan): Promise<OutageScene> {
  const scene = { plan, isClosed: false };
  const receiver = await startWebhookReceiver(() => (scene.isClosed ? 'refuse' : 'take'));
  const { catchUp, catchUpMs, stepMs, productionClocks } = plan;
  const crons = [
    `min_interval_seconds: ${stepMs / 1_000}`,
    `catch_up: ${catchUp}`,
    `catch_up_ms: ${Math.round(catchUpMs)}`,
  ];
  const system = await startShiftedSystem({ receiver, crons, productionClocks });
  const stop = async (): Promise<void> => {
    await system.stack.stop();
    receiver.stop();
  };
  return Object.assign(scene, { receiver, system, stop });
}
