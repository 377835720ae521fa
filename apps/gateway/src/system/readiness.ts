import { Injectable } from '@nestjs/common';
import { SandboxProbe, UnavailableError } from '@caribou/contracts';
import type { ProcessRegistry, ThreadStore } from '@caribou/state';
import { type HealthCheck, READY, type Readiness, readinessOf, STOPPING } from '@caribou/service';
import { Dependency, type GatewayBus } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';

/** Checks whether a run would be executed now, and whether this process should get requests. */
@Injectable()
export class ReadinessCheck {
  readonly checks: readonly HealthCheck[];
  private stopping = false;

  constructor(
    @Dependency('threadStore') store: Pick<ThreadStore, 'ping' | 'checkDurable'>,
    @Dependency('bus') bus: Pick<GatewayBus, 'checkStreams' | 'wakes' | 'call'>,
    @Dependency('runnerProcesses') runners: Pick<ProcessRegistry, 'countLiving'>,
    @Dependency('fileReadiness') files: HealthCheck,
    @Dependency('settings') { problems }: Pick<GatewaySettings, 'problems'>,
  ) {
    this.checks = [
      { name: 'redis', check: () => store.ping() },
      { name: 'durability', check: () => store.checkDurable(), optional: true },
      files,
      { name: 'nats', check: () => bus.checkStreams() },
      // Optional, because without notifications runners find runs in Redis, which takes seconds.
      { name: 'dispatch', check: () => bus.wakes('turns').checkPublishing(), optional: true },
      { name: 'model', check: () => checkModel(problems) },
      { name: 'agent-runner', check: () => checkRunner(bus, runners) },
      { name: 'sandbox', check: () => bus.call({ contract: SandboxProbe }, {}) },
    ];
  }

  /** From now on this process is not ready. */
  noteStopping(): void {
    this.stopping = true;
  }

  /** Runs all checks; the result lists what is missing for a run to be executed, and what is degraded, with reasons. */
  async now(): Promise<Readiness> {
    return this.stopping ? STOPPING : readinessOf(this.checks);
  }

  /** Whether requests should be sent to this process. What all gateways share is not asked: none would be better off without the others. */
  forTraffic(): Readiness {
    return this.stopping ? STOPPING : READY;
  }
}

const checkModel = (problems: readonly string[]): Promise<void> =>
  problems.length === 0 ? Promise.resolve() : Promise.reject(new UnavailableError(problems.join('; ')));

/** A runner requests wakes while it has a free slot; one of an earlier version has no lease of its process. */
async function checkRunner(
  bus: Pick<GatewayBus, 'wakes'>,
  runners: Pick<ProcessRegistry, 'countLiving'>,
): Promise<void> {
  if ((await bus.wakes('turns').hasRunners()) || (await runners.countLiving()) > 0) return;
  throw new UnavailableError('no agent-runner takes work');
}
