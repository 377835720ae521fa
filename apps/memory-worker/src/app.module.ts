import { type Bus, connectBus } from '@caribou/bus';
import type { Config } from '@caribou/config';
import type { Logger } from '@caribou/core';
import { type DynamicModule, Module } from '@nestjs/common';

export const BUS = Symbol('Bus');

/** Owns the MEMORY stream: it exists, with its consumer, as long as one instance runs. It takes no work from it yet. */
@Module({})
export class AppModule {
  static on(bus: Bus): DynamicModule {
    return { module: AppModule, providers: [{ provide: BUS, useValue: bus }] };
  }
}

/** Connects to NATS in the background and for ever; creates the stream of memory extraction and creates it again when it is gone. */
export const connect = (config: Config, logger: Logger): Bus =>
  connectBus({
    url: config.nats.url.reveal(),
    name: 'memory-worker',
    logger,
    streams: ['memory'],
    ackWaitMs: config.clocks.ackWaitMs,
    checkMs: config.clocks.sweepMs,
  });
