import type { Config } from '@caribou/config';
import type { Logger } from '@caribou/core';
import { giveBackWhenIdle } from './idle-memory.js';

/** One step of an orderly stop. */
export interface StopStep {
  readonly name: string;
  readonly run: () => Promise<unknown>;
}

export interface ServiceLife {
  readonly logger: Logger;
  readonly config: Pick<Config, 'clocks' | 'warnings' | 'notices'>;
  /** Loopback port of /health, /ready and /metrics, told to a parent process. */
  readonly healthPort: number;
  /** Carried out one after the other; all together within `clocks.drainMs`. */
  readonly stop: readonly StopStep[];
}

/** An exit before this many milliseconds are over would lose log lines still on their way. */
const LOG_FLUSH_MS = 20;

/**
 * From "started" to exit: tells the parent process, and stops in order at SIGTERM, SIGINT or when the parent is gone.
 * Exit code 0 after an orderly stop, 1 when a step failed or the stop took longer than `clocks.drainMs`, or for an
 * error that nobody handled.
 */
export function runUntilStopped({ logger, config, healthPort, stop }: ServiceLife): void {
  for (const warning of config.warnings) logger.warn({ event: 'config.warning', reason: warning }, 'configuration');
  for (const notice of config.notices) logger.info({ event: 'config.notice', reason: notice }, 'configuration');
  let stopping = false;
  const leave = (code: number): void => void setTimeout(() => process.exit(code), LOG_FLUSH_MS);
  const onStop = (reason: string): void => {
    if (stopping) return;
    stopping = true;
    logger.info({ event: 'service.stop', reason }, 'stopping');
    setTimeout(() => {
      logger.error({ event: 'service.stop', outcome: 'error' }, `not stopped within ${config.clocks.drainMs} ms`);
      leave(1);
    }, config.clocks.drainMs);
    void stopInOrder(stop, logger).then(leave);
  };
  process.on('SIGTERM', () => onStop('SIGTERM'));
  process.on('SIGINT', () => onStop('SIGINT'));
  process.on('disconnect', () => onStop('parent process is gone'));
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      logger.error({ event: 'service.crash', error }, event);
      leave(1);
    });
  }
  logger.info({ event: 'service.start', pid: process.pid, port: healthPort }, 'started');
  giveBackWhenIdle();
  process.send?.({ type: 'ready', healthPort });
}

/** Runs every step even when an earlier one failed; answers the exit code. */
async function stopInOrder(steps: readonly StopStep[], logger: Logger): Promise<0 | 1> {
  let code: 0 | 1 = 0;
  for (const step of steps) {
    try {
      await step.run();
    } catch (error) {
      code = 1;
      logger.error({ event: 'service.stop', error }, `${step.name} failed to stop`);
    }
  }
  return code;
}

/** Runs a service's main function; a failed start prints its reason and exits with 1. */
export function runMain(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}
