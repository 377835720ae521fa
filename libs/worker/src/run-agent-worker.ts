import { drainOf, loadConfig } from '@caribou/config';
import { loadExtensions, loadModels } from '@caribou/extensions';
import { MIDDLEWARE_NAMES } from '@caribou/middleware';
import { runUntilStopped, startHealthServer } from '@caribou/service';
import { createLogger, createTracing } from '@caribou/observability';
import type { AgentRole } from './agent-role.js';
import { openAgentWorker } from './agent-worker.js';

/** Milliseconds for exporting the last spans when the process stops. */
const TRACES_CLOSE_MS = 2_000;

/** The main function of a process that runs agents, from its configuration to its orderly stop. */
export async function runAgentWorker(role: AgentRole): Promise<void> {
  const config = loadConfig();
  const logger = createLogger({ service: role.service, level: config.logLevel });
  const { middlewares } = config.chain.extensions;
  const extensions = await loadExtensions({ middlewares, tools: config.tools.custom }, { reserved: MIDDLEWARE_NAMES });
  const modules = await loadModels(config.models);
  const endpoint = config.otlpEndpoint?.reveal();
  const tracing = await createTracing({ service: role.service, endpoint, logger });
  const { worker, sweeper, processLease, mcp, bus, redis, report, ...open } = openAgentWorker(role, {
    config,
    logger,
    extensions,
    modules,
    tracing,
  });
  await open.prepare();
  const health = await startHealthServer({
    host: config.healthHost,
    port: config.healthPort,
    checks: open.checks,
    metrics: open.metrics,
    isStopping: () => report.isDraining,
  });
  report.start(bus);
  processLease.start();
  worker.start();
  sweeper.start();
  runUntilStopped({
    service: role.service,
    logger,
    config,
    healthPort: health.port,
    onStopping: () => report.noteDraining(),
    stop: [
      { name: 'sweeper', run: () => sweeper.stop() },
      { name: 'runs', run: () => worker.drain(drainOf(config.clocks, role.service).workMs) },
      { name: 'process lease', run: () => processLease.stop() },
      { name: 'mcp', run: () => mcp.close() },
      { name: 'traces', run: () => tracing.close(TRACES_CLOSE_MS) },
      { name: 'health server', run: () => health.close() },
      { name: 'answers about the process', run: () => Promise.resolve(report.stop()) },
      { name: 'bus', run: () => bus.close() },
      { name: 'redis', run: () => redis.close() },
    ],
  });
}
