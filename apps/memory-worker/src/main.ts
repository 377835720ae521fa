import 'reflect-metadata';
import { loadConfig } from '@caribou/config';
import { runUntilStopped, nestLogger, runMain, startHealthServer } from '@caribou/nest';
import { createLogger } from '@caribou/observability';
import { NestFactory } from '@nestjs/core';
import { AppModule, connectParts, hearNudges } from './app.module.js';

runMain(async () => {
  const config = loadConfig();
  const logger = createLogger({ service: 'memory-worker', level: config.logLevel });
  const parts = connectParts(config, logger);
  const { bus, redis, worker, checks, metrics } = parts;
  const app = await NestFactory.createApplicationContext(AppModule.on(parts), { logger: nestLogger(logger) });
  const health = await startHealthServer({ port: config.healthPort, checks, metrics });
  worker?.start();
  const nudges = worker === undefined ? undefined : hearNudges(bus, worker);
  runUntilStopped({
    logger,
    config,
    healthPort: health.port,
    stop: [
      { name: 'nudges', run: () => Promise.resolve(nudges?.stop()) },
      { name: 'readings', run: () => worker?.drain(config.clocks.drainMs / 2) ?? Promise.resolve() },
      { name: 'health server', run: () => health.close() },
      { name: 'nest', run: () => app.close() },
      { name: 'bus', run: () => bus.close() },
      { name: 'redis', run: () => redis.close() },
    ],
  });
});
