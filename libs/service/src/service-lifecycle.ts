import { type Config, drainOf } from '@caribou/config';
import type { ServiceName } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { releaseMemoryWhenIdle } from './idle-memory.js';

/** One step of an orderly stop. */
export interface StopStep {
  readonly name: string;
  readonly run: () => Promise<unknown>;
}

export interface ServiceLifecycle {
  readonly service: ServiceName;
  readonly logger: Logger;
  readonly config: Pick<Config, 'clocks' | 'warnings' | 'notices'>;
  /** Loopback port of /health, /ready and /metrics, reported to the parent process. */
  readonly healthPort: number;
  /** Called first when the process is to stop: from then on it says that it is not ready. */
  readonly onStopping: () => void;
  /** Executed in order, within the drain of the service in total. */
  readonly stop: readonly StopStep[];
}

/** Delay of the exit, so that buffered log lines are written. */
const LOG_FLUSH_MS = 20;

/**
 * Reports the start to the parent process, and stops in order at SIGTERM, SIGINT or the end of the parent. After SIGTERM, which
 * orchestrators send, the process works on for the delay of its drain while it is not ready. The exit code is 0 after an orderly stop, and 1
 * when a step failed, the stop exceeded the drain or an error was not handled.
 */
export function runUntilStopped({ service, logger, config, healthPort, onStopping, stop }: ServiceLifecycle): void {
  for (const warning of config.warnings)
    logger.warn({ event: 'config.warning', reason: warning }, 'a setting has no effect');
  for (const notice of config.notices)
    logger.info({ event: 'config.notice', reason: notice }, 'a setting is applied in another way');
  let stopping = false;
  const exit = (code: number): void => void setTimeout(() => process.exit(code), LOG_FLUSH_MS);
  const drain = drainOf(config.clocks, service);
  const onStop = async (reason: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    onStopping();
    logger.info({ event: 'service.stop', reason }, 'the service is stopping');
    if (reason === 'SIGTERM') await sleep(drain.delayMs);
    setTimeout(() => {
      logger.error({ event: 'service.stop', outcome: 'error' }, `the service did not stop within ${drain.totalMs} ms`);
      exit(1);
    }, drain.totalMs);
    exit(await stopInOrder(stop, logger));
  };
  process.on('SIGTERM', () => void onStop('SIGTERM'));
  process.on('SIGINT', () => void onStop('SIGINT'));
  process.on('disconnect', () => void onStop('the parent process ended'));
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      logger.error({ event: 'service.crash', error }, `the service ends because of an ${event}`);
      exit(1);
    });
  }
  logger.info({ event: 'service.start', pid: process.pid, port: healthPort }, 'the service started');
  releaseMemoryWhenIdle();
  process.send?.({ type: 'ready', healthPort });
}

/** Runs every step even when an earlier one failed; returns the exit code. */
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
