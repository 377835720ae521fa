import 'reflect-metadata';
import { natsTarget } from '@caribou/bus';
import { MANAGERS_QUEUE, machineSubject, SandboxAcquire, SandboxProbe } from '@caribou/contracts';
import { drainOf, loadConfig } from '@caribou/config';
import { nestLogger, RpcErrorFilter, RpcServer } from '@caribou/nest';
import { runUntilStopped, runMain, startHealthServer } from '@caribou/service';
import { createLogger } from '@caribou/observability';
import { NestFactory } from '@nestjs/core';
import { answerQuestions, AppModule, connectParts } from './app.module.js';
import { allowHeapGrowth } from './machine/heap-growth.js';

/** The sections of config.yaml that this service reads; none of them contains a model's API key. */
const SECTIONS = ['clocks', 'files', 'nats', 'sandbox', 'skills', 'log_level'] as const;

/** Time to write the last audit lines when this process stops. */
const AUDIT_CLOSE_MS = 3000;

runMain(async () => {
  allowHeapGrowth();
  const config = loadConfig(undefined, undefined, SECTIONS);
  const logger = createLogger({ service: 'sandbox-manager', level: config.logLevel });
  const parts = connectParts(config, logger);
  if (!parts.plane.isStored) await parts.volume.checkAtStart(logger);
  const server = new RpcServer({
    target: natsTarget(config.nats.url.reveal(), config.nats.security.reveal()),
    queue: MANAGERS_QUEUE,
    logger,
    // Without an object store all machines have the same files, and nobody asks for one of them.
    subjectParams: { manager_id: parts.managerId, machine: parts.plane.machine ?? parts.managerId },
  });
  const app = await NestFactory.createMicroservice(AppModule.on(parts), {
    strategy: server,
    logger: nestLogger(logger),
  });
  app.useGlobalFilters(new RpcErrorFilter(logger));
  const health = await startHealthServer({
    host: config.healthHost,
    port: config.healthPort,
    checks: parts.checks,
    metrics: parts.metrics,
    isStopping: () => parts.report.isDraining,
  });
  await parts.socket.open();
  parts.guard.start();
  parts.lease.start();
  parts.deadManagers.checks.start();
  await parts.earlierManagers.start();
  parts.reaper.sweeps.start();
  parts.plane.eviction?.start();
  parts.plane.leftChanges?.rounds.start();
  parts.skills.sweeper?.start();
  await app.listen();
  answerQuestions(parts);
  const sharedSubjects = [
    SandboxAcquire.name,
    SandboxProbe.name,
    machineSubject(parts.plane.machine ?? parts.managerId),
  ];
  runUntilStopped({
    service: 'sandbox-manager',
    logger,
    config,
    healthPort: health.port,
    onStopping: () => {
      parts.report.noteDraining();
      server.leave(sharedSubjects);
    },
    stop: [
      { name: 'executions', run: () => parts.executor.drain(drainOf(config.clocks, 'sandbox-manager').workMs) },
      { name: 'dead managers', run: () => parts.deadManagers.checks.stop() },
      { name: 'earlier managers', run: () => parts.earlierManagers.stop() },
      { name: 'reaper', run: () => parts.reaper.sweeps.stop() },
      { name: 'evictions', run: () => parts.plane.eviction?.stop() ?? Promise.resolve() },
      { name: 'left changes', run: () => parts.plane.leftChanges?.rounds.stop() ?? Promise.resolve() },
      { name: 'sweeps of skills', run: () => parts.skills.sweeper?.stop() ?? Promise.resolve() },
      { name: 'sandboxes', run: () => parts.pool.close() },
      { name: 'leftovers', run: () => parts.reaper.removeLeftovers() },
      { name: 'sandbox drivers', run: () => parts.drivers.close() },
      { name: 'egress', run: () => Promise.resolve(parts.closeEgress()) },
      { name: 'lease', run: () => parts.lease.stop() },
      { name: 'lease guard', run: () => Promise.resolve(parts.guard.close()) },
      { name: 'socket', run: () => parts.socket.close() },
      { name: 'nest', run: () => app.close() },
      { name: 'answers about the process', run: () => Promise.resolve(parts.report.stop()) },
      { name: 'bus', run: () => parts.outputs.close() },
      { name: 'health server', run: () => health.close() },
      { name: 'audit', run: () => parts.audit.close(AUDIT_CLOSE_MS) },
      { name: 'redis', run: () => parts.redis.close() },
    ],
  });
});
