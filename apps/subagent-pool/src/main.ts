import 'reflect-metadata';
import { loadConfig } from '@caribou/config';
import { liveUntilStopped, nestLogger, runMain, startHealthServer } from '@caribou/nest';
import { createLogger, createMetrics } from '@caribou/observability';
import { NestFactory } from '@nestjs/core';
import { AppModule, connect } from './app.module.js';

runMain(async () => {
  const config = loadConfig();
  const logger = createLogger({ service: 'subagent-pool', level: config.logLevel });
  const bus = connect(config, logger);
  const app = await NestFactory.createApplicationContext(AppModule.on(bus), { logger: nestLogger(logger) });
  const checks = [{ name: 'nats', check: () => bus.checkStreams() }];
  const metrics = createMetrics({ service: 'subagent-pool' });
  const health = await startHealthServer({ port: config.healthPort, checks, metrics });
  liveUntilStopped({
    logger,
    config,
    healthPort: health.port,
    stop: [
      { name: 'health server', run: () => health.close() },
      { name: 'nest', run: () => app.close() },
      { name: 'bus', run: () => bus.close() },
    ],
  });
});
