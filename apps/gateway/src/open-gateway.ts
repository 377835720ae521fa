import type { Config } from '@caribou/config';
import type { Logger } from '@caribou/core';
import type { StopStep } from '@caribou/nest';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { connectParts } from './connect-parts.js';
import { createGatewayApp } from './gateway-app.js';
import type { GatewayParts } from './parts.js';

/** A gateway with its connections; not yet listening. */
export interface OpenGateway {
  readonly app: NestFastifyApplication;
  /** Open streams break off and the HTTP server stops, then the connections end. */
  readonly stop: readonly StopStep[];
}

/** @throws {UnavailableError} when the store cannot be one of record, as it evicts keys */
export async function openGateway(
  config: Config,
  logger: Logger,
  replaced: Partial<Pick<GatewayParts, 'converter' | 'models'>> = {},
): Promise<OpenGateway> {
  const parts = { ...(await connectParts(config, logger)), ...replaced };
  await parts.checkStore();
  const app = await createGatewayApp({ module: AppModule.on(parts), http: config.http, logger });
  return { app, stop: [{ name: 'http', run: () => app.close() }, ...parts.stop] };
}
