import type { Config } from '@caribou/config';
import type { Logger } from '@caribou/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule, connectParts, type ConnectedParts } from './app.module.js';
import { createGatewayApp } from './gateway-app.js';

/** A gateway with its connections; not yet listening. */
export interface OpenGateway {
  readonly app: NestFastifyApplication;
  readonly parts: ConnectedParts;
  /** Breaks open streams off, stops the HTTP server, then ends the connections. */
  close(): Promise<void>;
}

export async function openGateway(config: Config, logger: Logger): Promise<OpenGateway> {
  const parts = connectParts(config, logger);
  const app = await createGatewayApp({ module: AppModule.on(parts), http: config.http, logger });
  return {
    app,
    parts,
    close: async () => {
      await app.close();
      await parts.close();
    },
  };
}
