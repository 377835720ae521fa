import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { loadConfig } from '@caribou/config';
import { runUntilStopped, runMain, startHealthServer, useLeanAsyncBinding } from '@caribou/service';
import { createLogger } from '@caribou/observability';
import { openGateway } from './open-gateway.js';

runMain(async () => {
  useLeanAsyncBinding();
  const config = loadConfig();
  const logger = createLogger({ service: 'gateway', level: config.logLevel });
  const gateway = await openGateway(config, logger);
  await gateway.app.listen(config.http.port, config.http.host);
  const { port } = gateway.app.getHttpServer().address() as AddressInfo;
  const { health, onStopping } = gateway;
  const { healthHost, healthPort } = config;
  const server =
    healthPort === 0 ? undefined : await startHealthServer({ host: healthHost, port: healthPort, ...health });
  const stop = [...gateway.stop, { name: 'health server', run: async () => server?.close() }];
  runUntilStopped({ service: 'gateway', logger, config, healthPort: port, onStopping, stop });
});
