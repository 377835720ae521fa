import 'reflect-metadata';
import { loadConfig } from '@caribou/config';
import { loadExtensions } from '@caribou/extensions';
import { MIDDLEWARE_NAMES } from '@caribou/middleware';
import { runUntilStopped, nestLogger, runMain, startHealthServer } from '@caribou/nest';
import { createLogger, createTracing } from '@caribou/observability';
import { NestFactory } from '@nestjs/core';
import { requireDurableRedis } from '@caribou/state';
import { AppModule, connectParts } from './app.module.js';
import { prepareMemories } from './lead-agent/memory-for-prompt.js';

/** Time for the last spans when this process stops. */
const TRACES_CLOSE_MS = 2_000;

runMain(async () => {
  const config = loadConfig();
  const logger = createLogger({ service: 'agent-runner', level: config.logLevel });
  const { middlewares } = config.chain.extensions;
  const extensions = await loadExtensions({ middlewares, tools: config.tools.custom }, { reserved: MIDDLEWARE_NAMES });
  const endpoint = config.otlpEndpoint?.reveal();
  const tracing = await createTracing({ service: 'agent-runner', endpoint, logger });
  const parts = connectParts(config, logger, { extensions, tracing });
  await requireDurableRedis(parts.redis, logger);
  await prepareMemories(config.chain.memory);
  const app = await NestFactory.createApplicationContext(AppModule.on(parts), { logger: nestLogger(logger) });
  const health = await startHealthServer({ port: config.healthPort, checks: parts.checks, metrics: parts.metrics });
  parts.worker.start();
  parts.sweeper.start();
  runUntilStopped({
    logger,
    config,
    healthPort: health.port,
    stop: [
      { name: 'sweeper', run: () => parts.sweeper.stop() },
      { name: 'runs', run: () => parts.worker.drain(config.clocks.drainMs / 2) },
      { name: 'mcp', run: () => parts.mcp.close() },
      { name: 'traces', run: () => tracing.close(TRACES_CLOSE_MS) },
      { name: 'health server', run: () => health.close() },
      { name: 'nest', run: () => app.close() },
      { name: 'bus', run: () => parts.bus.close() },
      { name: 'redis', run: () => parts.redis.close() },
    ],
  });
});
