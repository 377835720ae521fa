import type { Config } from '@caribou/config';
import type { Logger } from '@caribou/core';
import { ProcessReport, type StopStep } from '@caribou/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { InterruptDeadlines } from './approvals/interrupt-deadlines.js';
import { CredentialWatch } from './auth/credential-watch.js';
import { KeyAuthenticator } from './auth/key-authenticator.js';
import { createDependencies, type Dependencies } from './dependencies.js';
import { createGatewayApp } from './gateway-app.js';
import { DueCrons } from './crons/due-crons.js';
import { ReadinessCheck } from './system/readiness.js';
import { Timers } from './timers/timers.js';

/** A gateway with its connections, which does not listen yet. */
export interface OpenGateway {
  readonly app: NestFastifyApplication;
  /** The steps of a stop: open streams and the HTTP server are closed, then the connections. */
  readonly stop: readonly StopStep[];
}

/**
 * Builds a gateway from the configuration.
 *
 * @throws {UnavailableError} when Redis may evict keys, and so would lose threads
 */
export async function openGateway(
  config: Config,
  logger: Logger,
  replaced: Partial<Pick<Dependencies, 'consoleFiles' | 'conversions' | 'converter' | 'models' | 'passwords'>> = {},
): Promise<OpenGateway> {
  const created = await createDependencies(config, logger);
  const dependencies = { ...created.dependencies, ...replaced };
  const { accounts, apiKeys, erasures } = dependencies;
  await created.checkStore();
  const watch = new CredentialWatch({ accounts, apiKeys }, config.clocks.heartbeatMs, logger);
  const keys = new KeyAuthenticator({ configured: config.http.apiKeys, store: apiKeys, watch, logger });
  erasures.start();
  const app = await createGatewayApp({
    module: AppModule.withDependencies(dependencies),
    http: config.http,
    rates: config.quotas,
    requestBuckets: dependencies.requestBuckets,
    trustedProxies: config.auth.trustedProxies,
    guard: { keys, sessions: config.auth.enabled ? { accounts, watch } : undefined },
    metrics: dependencies.metrics,
    logger,
  });
  const stopWatch = { name: 'credentials', run: async () => watch.stop() };
  const timers = new Timers(dependencies, app.get(DueCrons));
  timers.start();
  const deadlines = app.get(InterruptDeadlines);
  deadlines.start();
  const { bus, metrics, processId } = dependencies;
  const { checks } = app.get(ReadinessCheck);
  const report = new ProcessReport({ service: 'gateway', processId, metrics, checks });
  report.start(bus);
  const noteDraining = { name: 'report', run: () => Promise.resolve(report.noteDraining()) };
  const stopReport = { name: 'answers about the process', run: () => Promise.resolve(report.stop()) };
  const stopErasures = { name: 'erasures', run: () => erasures.stop() };
  const stopTimers = { name: 'timers', run: () => timers.stop() };
  const stopDeadlines = { name: 'deadlines', run: () => deadlines.stop() };
  const closeHttp = { name: 'http', run: () => app.close() };
  return {
    app,
    stop: [noteDraining, stopWatch, stopErasures, stopTimers, stopDeadlines, closeHttp, stopReport, ...created.stop],
  };
}
