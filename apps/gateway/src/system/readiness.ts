import { Inject, Injectable } from '@nestjs/common';
import { createRpcClient } from '@caribou/bus';
import { SandboxProbe, UnavailableError } from '@caribou/contracts';
import type { ThreadStore } from '@caribou/core';
import { type HealthCheck, missingOf } from '@caribou/nest';
import { BUS, type GatewayBus, type GatewaySettings, SETTINGS, THREAD_STORE } from '../ports.js';

/** Whether a turn would run now. */
@Injectable()
export class ReadinessCheck {
  private readonly checks: readonly HealthCheck[];

  constructor(
    @Inject(THREAD_STORE) store: Pick<ThreadStore, 'ping'>,
    @Inject(BUS) bus: Pick<GatewayBus, 'checkStreams' | 'wakes' | 'request'>,
    @Inject(SETTINGS) { problems }: Pick<GatewaySettings, 'problems'>,
  ) {
    this.checks = [
      { name: 'redis', check: () => store.ping() },
      { name: 'nats', check: () => bus.checkStreams() },
      { name: 'model', check: () => modelCheck(problems) },
      { name: 'agent-runner', check: () => runnerCheck(bus) },
      { name: 'sandbox', check: () => createRpcClient(bus).call({ contract: SandboxProbe }, {}) },
    ];
  }

  /** What is missing, by name and in words; empty when a turn would run. */
  missing(): Promise<Readonly<Record<string, string>>> {
    return missingOf(this.checks);
  }
}

const modelCheck = (problems: readonly string[]): Promise<void> =>
  problems.length === 0 ? Promise.resolve() : Promise.reject(new UnavailableError(problems.join('; ')));

async function runnerCheck(bus: Pick<GatewayBus, 'wakes'>): Promise<void> {
  if (!(await bus.wakes('turns').hasRunners())) throw new UnavailableError('no agent-runner takes work');
}
