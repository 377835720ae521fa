import { loadConfig } from '@caribou/config';
import { loadModels } from '@caribou/extensions';
import { runUntilStopped, runMain, startHealthServer } from '@caribou/service';
import { createLogger } from '@caribou/observability';
import { subscribeToNotifications, openMemoryWorker } from './open-memory-worker.js';

runMain(async () => {
  const config = loadConfig();
  const logger = createLogger({ service: 'memory-worker', level: config.logLevel });
  const parts = openMemoryWorker(config, logger, await loadModels(config.models));
  const { bus, redis, worker, processLease, checks, metrics, report } = parts;
  const health = await startHealthServer({ host: config.healthHost, port: config.healthPort, checks, metrics });
  report.start(bus);
  processLease?.start();
  worker?.start();
  const nudges = worker === undefined ? undefined : subscribeToNotifications(bus, worker);
  runUntilStopped({
    logger,
    config,
    healthPort: health.port,
    stop: [
      { name: 'report', run: () => Promise.resolve(report.noteDraining()) },
      { name: 'nudges', run: () => Promise.resolve(nudges?.stop()) },
      { name: 'readings', run: () => worker?.drain(config.clocks.drainMs / 2) ?? Promise.resolve() },
      { name: 'process lease', run: () => processLease?.stop() ?? Promise.resolve() },
      { name: 'health server', run: () => health.close() },
      { name: 'answers about the process', run: () => Promise.resolve(report.stop()) },
      { name: 'bus', run: () => bus.close() },
      { name: 'redis', run: () => redis.close() },
    ],
  });
});
