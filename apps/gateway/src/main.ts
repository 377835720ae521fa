import { loadConfig } from '@caribou/config';
import { createLogger } from '@caribou/observability';
import { AppModule, connectParts } from './app.module.js';
import { createGatewayApp } from './gateway-app.js';
import { runUntilStopped } from './run-until-stopped.js';

async function main(): Promise<void> {
  const config = loadConfig();
  const logger = createLogger({ service: 'gateway', level: config.logLevel });
  const parts = connectParts(config, logger);
  const app = await createGatewayApp({ module: AppModule.on(parts), http: config.http, logger });
  await runUntilStopped(app, { config, logger, close: () => parts.close() });
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
