import { type Bus, connectBus } from '@caribou/bus';
import type { Config } from '@caribou/config';
import type { Logger } from '@caribou/core';
import { type DynamicModule, Module } from '@nestjs/common';

export const BUS = Symbol('Bus');

/** Owns the SUBAGENTS stream: it exists, with its consumer, as long as one instance runs. It takes no work from it yet. */
@Module({})
export class AppModule {
  static on(bus: Bus): DynamicModule {
    return { module: AppModule, providers: [{ provide: BUS, useValue: bus }] };
  }
}

/** Connects to NATS in the background and for ever; creates the stream of subagent tasks and creates it again when it is gone. */
export const connect = (config: Config, logger: Logger): Bus =>
  connectBus({
    url: config.nats.url.reveal(),
    name: 'subagent-pool',
    logger,
    streams: ['subagents'],
    ackWaitMs: config.clocks.ackWaitMs,
    checkMs: config.clocks.sweepMs,
  });
