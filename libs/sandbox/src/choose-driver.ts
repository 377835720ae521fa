import { SandboxDriverKind, UnavailableError } from '@caribou/contracts';
import type { Clock, ThreadQuota } from '@caribou/core';
import { BwrapDriver } from './bwrap/bwrap-driver.js';
import { DockerDriver } from './docker/docker-driver.js';
import type { Probe, SandboxDriver } from './drivers/driver.js';
import { KubernetesDriver } from './kubernetes/kubernetes-driver.js';
import { withoutHostPaths } from './drivers/host-paths.js';
import { withinQuota } from './quota-driver.js';
import type { SandboxSettings } from './drivers/settings.js';

/** A driver that failed its probe is probed again after this long, in milliseconds: the machine may have changed. */
const RETRY_FAILED_MS = 15_000;

export interface SandboxDrivers {
  /** The driver for threads that have no sandbox yet. @throws {UnavailableError} that says what to install */
  forNewThread(): Promise<SandboxDriver>;
  /** The driver of a thread that has one: no other will do. @throws {UnavailableError} when it cannot be used here */
  ofKind(kind: SandboxDriverKind): Promise<SandboxDriver>;
  /** All drivers that the settings allow and that can be used here now. */
  usable(): Promise<readonly SandboxDriver[]>;
  /** How many sandboxes wait for a thread, of all drivers. */
  warmSandboxes(): number;
  /** Ends what the drivers have besides sandboxes. They are not used any more. */
  close(): Promise<void>;
}

/** Whether the setting allows a driver: `auto` means the sandboxes of this machine. */
export const isAllowedDriver = (kind: SandboxDriverKind, wanted: SandboxSettings['driver']): boolean =>
  wanted === 'auto' ? kind !== 'kubernetes' : kind === wanted;

/** Receives the reason why a driver cannot be used, a text for the operator: it may name paths of the machine. */
export type FailedProbe = (driver: SandboxDriverKind, reason: string) => void;

interface Candidate {
  readonly driver: SandboxDriver;
  probe: Promise<Probe> | undefined;
  failedAtMs: number;
}

const make: Readonly<Record<SandboxDriverKind, (settings: SandboxSettings) => SandboxDriver>> = {
  docker: (settings) => new DockerDriver(settings),
  bwrap: (settings) => new BwrapDriver(settings),
  kubernetes: (settings) => new KubernetesDriver(settings),
};

/** A driver of this kind. Its probe must pass before it is used. */
export const createDriver = (kind: SandboxDriverKind, settings: SandboxSettings): SandboxDriver => make[kind](settings);

/** Docker when its engine answers and has the image, else bubblewrap, or only the one that the settings name. */
export function sandboxDrivers(
  settings: SandboxSettings,
  clock: Clock,
  quota: ThreadQuota,
  onFailed?: FailedProbe,
): SandboxDrivers {
  return chooseAmong(
    SandboxDriverKind.options.map((kind) => withinQuota(createDriver(kind, settings), quota, clock)),
    settings.driver,
    clock,
    onFailed,
  );
}

/** The choice among drivers in order of preference. Commands never run on the host itself: that is not among them. */
export function chooseAmong(
  drivers: readonly SandboxDriver[],
  wanted: SandboxSettings['driver'],
  clock: Clock,
  onFailed: FailedProbe = () => undefined,
): SandboxDrivers {
  const candidates = drivers.map((driver): Candidate => ({ driver, probe: undefined, failedAtMs: 0 }));

  async function probe(candidate: Candidate): Promise<Probe> {
    if (candidate.probe !== undefined) {
      const known = await candidate.probe;
      if (known.ok || clock.monotonicMs() - candidate.failedAtMs < RETRY_FAILED_MS) return known;
    }
    candidate.probe = candidate.driver.probe();
    const fresh = await candidate.probe;
    if (fresh.ok) return fresh;
    candidate.failedAtMs = clock.monotonicMs();
    onFailed(candidate.driver.kind, fresh.reason);
    return fresh;
  }

  async function firstUsable(among: readonly Candidate[], nothing: string): Promise<SandboxDriver> {
    const reasons: string[] = [];
    for (const candidate of among) {
      const answer = await probe(candidate);
      if (answer.ok) return candidate.driver;
      reasons.push(`${candidate.driver.kind}: ${answer.reason}`);
    }
    throw new UnavailableError(withoutHostPaths(`${nothing}: ${reasons.join('; ')}`), {
      details: { dependency: 'sandbox' },
      retryable: false,
    });
  }

  const allowed = candidates.filter(({ driver }) => isAllowedDriver(driver.kind, wanted));

  return {
    usable: async () => {
      const answers = await Promise.all(allowed.map(probe));
      return allowed.filter((_, index) => answers[index]?.ok === true).map(({ driver }) => driver);
    },
    forNewThread: () => firstUsable(allowed, 'no sandbox is available, and commands never run outside of one'),
    ofKind: (kind) =>
      firstUsable(
        candidates.filter(({ driver }) => driver.kind === kind),
        `this thread began in a ${kind} sandbox, which is not available here`,
      ),
    warmSandboxes: () => candidates.reduce((sum, { driver }) => sum + (driver.warmSandboxes?.() ?? 0), 0),
    close: async () => {
      await Promise.all(candidates.map(async ({ driver }) => driver.close?.()));
    },
  };
}
