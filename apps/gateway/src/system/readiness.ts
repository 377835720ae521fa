import { Inject, Injectable } from '@nestjs/common';
import type { ThreadStore } from '@caribou/core';
import { BUS, type GatewayBus, type GatewaySettings, SETTINGS, THREAD_STORE } from '../ports.js';

export interface Readiness {
  readonly ready: boolean;
  /** What is missing for a turn to run, in words; empty when it would. */
  readonly missing: readonly string[];
}

const PING_MS = 2_000;

/** Whether a turn would run now. */
@Injectable()
export class ReadinessCheck {
  constructor(
    @Inject(THREAD_STORE) private readonly store: Pick<ThreadStore, 'ping'>,
    @Inject(BUS) private readonly bus: Pick<GatewayBus, 'ping'>,
    @Inject(SETTINGS) private readonly settings: Pick<GatewaySettings, 'problems'>,
  ) {}

  async check(): Promise<Readiness> {
    const [redis, nats] = await Promise.allSettled([this.store.ping(), this.bus.ping(PING_MS)]);
    const missing = [
      ...(redis.status === 'rejected' ? ['redis does not answer'] : []),
      ...(nats.status === 'rejected' ? ['nats does not answer'] : []),
      ...this.settings.problems,
    ];
    return { ready: missing.length === 0, missing };
  }
}
