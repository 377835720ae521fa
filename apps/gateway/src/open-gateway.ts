import { type Config, drainOf } from '@caribou/config';
import type { Logger } from '@caribou/core';
import { type HealthServerOptions, ProcessReport, type StopStep } from '@caribou/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { InterruptDeadlines } from './approvals/interrupt-deadlines.js';
import { CredentialWatch } from './auth/credential-watch.js';
import { KeyAuthenticator } from './auth/key-authenticator.js';
import { createDependencies, type Dependencies } from './dependencies.js';
import { createGatewayApp } from './gateway-app.js';
import { OpenRequests } from './http/open-requests.js';
import { OpenStreams } from './runs/streams/open-streams.js';
import { DueCrons } from './crons/due-crons.js';
import { ReadinessCheck } from './system/readiness.js';
import { Timers } from './timers/timers.js';

/** A gateway with its connections, which does not listen yet. */
export interface OpenGateway {
  readonly app: NestFastifyApplication;
  /** What this gateway shows of itself where nobody is asked for a key. */
  readonly health: Pick<HealthServerOptions, 'checks' | 'metrics' | 'isStopping'>;
  /** Says from now on that this gateway is not ready, while it works as before. */
  readonly onStopping: () => void;
  /**
   * The steps of a stop: due work is left to other gateways, streams are cut off so that clients resume them at another gateway, requests
   * under way end, then the HTTP server and the connections are closed.
   */
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
  const openRequests = new OpenRequests();
  const app = await createGatewayApp({
    module: AppModule.withDependencies(dependencies),
    http: config.http,
    rates: config.quotas,
    requestBuckets: dependencies.requestBuckets,
    trustedProxies: config.auth.trustedProxies,
    guard: { keys, sessions: config.auth.enabled ? { accounts, watch } : undefined },
    metrics: dependencies.metrics,
    openRequests,
    logger,
  });
  const timers = new Timers(dependencies, app.get(DueCrons));
  timers.start();
  const deadlines = app.get(InterruptDeadlines);
  deadlines.start();
  const { bus, metrics, processId } = dependencies;
  const readiness = app.get(ReadinessCheck);
  const report = new ProcessReport({ service: 'gateway', processId, metrics, checks: readiness.checks });
  report.start(bus);
  const { workMs } = drainOf(config.clocks, 'gateway');
  return {
    app,
    health: { checks: readiness.checks, metrics, isStopping: () => report.isDraining },
    onStopping: () => {
      for (const one of [readiness, openRequests]) one.noteStopping();
      report.noteDraining();
    },
    stop: [
      { name: 'erasures', run: () => erasures.stop() },
      { name: 'timers', run: () => timers.stop() },
      { name: 'deadlines', run: () => deadlines.stop() },
      { name: 'streams', run: async () => app.get(OpenStreams).cutAll() },
      { name: 'requests', run: () => openRequests.waitForEnd(workMs) },
      { name: 'http', run: () => app.close() },
      { name: 'credentials', run: async () => watch.stop() },
      { name: 'answers about the process', run: async () => report.stop() },
      ...created.stop,
    ],
  };
}
