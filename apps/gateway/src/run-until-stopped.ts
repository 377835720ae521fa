import type { Config } from '@caribou/config';
import type { Logger } from '@caribou/core';
import type { OpenGateway } from './open-gateway.js';

export interface ServiceLife {
  readonly config: Pick<Config, 'http' | 'clocks' | 'warnings'>;
  readonly logger: Logger;
}

/** Listens, tells the parent process, and stops in order at SIGTERM or SIGINT: streams break off, then connections end. */
export async function runUntilStopped(gateway: OpenGateway, { config, logger }: ServiceLife): Promise<void> {
  const { app } = gateway;
  const { host, port } = config.http;
  for (const warning of config.warnings) logger.warn({ event: 'config.warning', reason: warning }, 'configuration');
  await app.listen(port, host);
  const address = app.getHttpServer().address() as { readonly port: number };
  logger.info({ event: 'service.start', host, port: address.port, pid: process.pid }, 'listening');
  process.send?.({ type: 'ready', healthPort: address.port });

  const stop = async (signal: string): Promise<void> => {
    const late = setTimeout(() => process.exit(1), config.clocks.drainMs);
    logger.info({ event: 'service.stop', signal }, 'stopping');
    await gateway.close();
    clearTimeout(late);
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      stop(signal).catch((error: unknown) => {
        logger.error({ event: 'service.stop', error }, 'the stop failed');
        process.exit(1);
      });
    });
  }
}
