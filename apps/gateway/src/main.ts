import { loadConfig } from '@caribou/config';
import { createLogger } from '@caribou/observability';
import { openGateway } from './open-gateway.js';
import { runUntilStopped } from './run-until-stopped.js';

async function main(): Promise<void> {
  const config = loadConfig();
  const logger = createLogger({ service: 'gateway', level: config.logLevel });
  await runUntilStopped(await openGateway(config, logger), { config, logger });
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
