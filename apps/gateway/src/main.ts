import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { loadConfig } from '@caribou/config';
import { runUntilStopped, runMain } from '@caribou/service';
import { createLogger } from '@caribou/observability';
import { openGateway } from './open-gateway.js';

runMain(async () => {
  const config = loadConfig();
  const logger = createLogger({ service: 'gateway', level: config.logLevel });
  const gateway = await openGateway(config, logger);
  await gateway.app.listen(config.http.port, config.http.host);
  const { port } = gateway.app.getHttpServer().address() as AddressInfo;
  runUntilStopped({ logger, config, healthPort: port, stop: gateway.stop });
});
