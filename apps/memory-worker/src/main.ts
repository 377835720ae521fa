import { drainOf, loadConfig } from '@caribou/config';
import { loadModels } from '@caribou/extensions';
import { runUntilStopped, runMain, startHealthServer } from '@caribou/service';
import { createLogger } from '@caribou/observability';
import { subscribeToNotifications, openMemoryWorker } from './open-memory-worker.js';

runMain(async () => {
  const config = loadConfig();
  const logger = createLogger({ service: 'memory-worker', level: config.logLevel });
  const parts = openMemoryWorker(config, logger, await loadModels(config.models));
  const { bus, redis, worker, processLease, checks, metrics, report } = parts;
  const health = await startHealthServer({
    ...{ host: config.healthHost, port: config.healthPort, checks, metrics },
    isStopping: () => report.isDraining,
  });
  report.start(bus);
  processLease?.start();
  worker?.start();
  const nudges = worker === undefined ? undefined : subscribeToNotifications(bus, worker);
  const { workMs } = drainOf(config.clocks, 'memory-worker');
  runUntilStopped({
    service: 'memory-worker',
    logger,
    config,
    healthPort: health.port,
    onStopping: () => report.noteDraining(),
    stop: [
      { name: 'nudges', run: () => Promise.resolve(nudges?.stop()) },
      { name: 'readings', run: () => worker?.drain(workMs) ?? Promise.resolve() },
      { name: 'process lease', run: () => processLease?.stop() ?? Promise.resolve() },
      { name: 'health server', run: () => health.close() },
      { name: 'answers about the process', run: () => Promise.resolve(report.stop()) },
      { name: 'bus', run: () => bus.close() },
      { name: 'redis', run: () => redis.close() },
    ],
  });
});
