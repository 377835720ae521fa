import type { ServiceName } from '@caribou/contracts';
import type { ClocksConfig } from './config.js';

/** Time of an orderly stop after SIGTERM, in milliseconds. */
export interface Drain {
  /** For how long the process still works as before, not ready any more. */
  readonly delayMs: number;
  /** The longest stop, from the end of the delay. */
  readonly totalMs: number;
  /** The part of the stop in which work under way may end; the rest is for closing. */
  readonly workMs: number;
}

/** Time that closing may take, when the drain is not shorter than twice that. */
const CLOSING_MS = 30_000;

/** The drain of a service, which is `clocks.drain_ms` unless it has one of its own. */
export function drainOf(clocks: DrainClocks, service: ServiceName): Drain {
  const totalMs = ownDrainOf(clocks, service) ?? clocks.drainMs;
  return {
    delayMs: service === 'gateway' ? clocks.gatewayDrainDelayMs : 0,
    totalMs,
    workMs: Math.max(totalMs / 2, totalMs - CLOSING_MS),
  };
}

export type DrainClocks = Pick<
  ClocksConfig,
  | 'drainMs'
  | 'gatewayDrainMs'
  | 'runnerDrainMs'
  | 'poolDrainMs'
  | 'memoryDrainMs'
  | 'managerDrainMs'
  | 'gatewayDrainDelayMs'
>;

function ownDrainOf(clocks: DrainClocks, service: ServiceName): number | undefined {
  switch (service) {
    case 'gateway':
      return clocks.gatewayDrainMs;
    case 'agent-runner':
      return clocks.runnerDrainMs;
    case 'subagent-pool':
      return clocks.poolDrainMs;
    case 'memory-worker':
      return clocks.memoryDrainMs;
    case 'sandbox-manager':
      return clocks.managerDrainMs;
  }
}
