import { type Bus, type BusOptions, connectBus } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { busAccess } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import { createMetrics, type Metrics } from '@caribou/observability';
import { createRedis, type RedisConnection } from '@caribou/state';

export interface ConnectionOptions extends Pick<BusOptions, 'streams' | 'checkMs'> {
  readonly service: 'agent-runner' | 'subagent-pool' | 'memory-worker';
  readonly config: Config;
  readonly logger: Logger;
}

/** The connections of every service without an HTTP API. */
export interface Connections {
  readonly bus: Bus;
  readonly redis: RedisConnection;
  readonly metrics: Metrics;
}

/** Connects to Redis and NATS in the background, both until they are closed. */
export function openConnections({ service, config, logger, ...streams }: ConnectionOptions): Connections {
  const { redis, nats, clocks, files } = config;
  const storesFiles = files !== undefined;
  const metrics = createMetrics({ service });
  const onScript = (name: string, durationMs: number): void => metrics.scriptEnded(name, durationMs);
  return {
    metrics,
    redis: createRedis({ url: redis.url.reveal(), ...redis.security.reveal(), storesFiles, logger, onScript }),
    bus: connectBus({
      url: nats.url.reveal(),
      ...nats.security.reveal(),
      replicas: nats.replicas,
      name: service,
      access: busAccess(service),
      logger,
      ackWaitMs: clocks.ackWaitMs,
      ...streams,
    }),
  };
}
