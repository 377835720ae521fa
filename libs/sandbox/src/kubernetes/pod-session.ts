import type { AgentEgress } from '@caribou/contracts';
import { UnavailableError } from '@caribou/contracts';
import { type Clock, type CopyMirror, type CopyMirrors, RepeatedTask, systemClock } from '@caribou/core';
import type { SandboxSpec } from '../drivers/driver.js';
import type { SandboxSettings } from '../drivers/settings.js';
import type { AgentClient } from './agent/agent-client.js';
import { HttpAgentClient } from './agent/http-agent-client.js';
import { NO_FILES } from './pods/no-files.js';
import type { PodEgress } from './egress/pod-egress.js';
import type { RunningPod } from './pods/pod-starter.js';

/** The agent ends what runs when its manager has been silent for so long, in milliseconds. */
export const LEASE_MS = 30_000;
/** Without a manager for so long an agent ends, and its pod with it. */
export const ORPHAN_MS = 300_000;
/** A lease is extended this often while its sandbox lives. */
const HOLD_MS = 6_000;
/** The same after a failure. */
const RETRY_MS = 1_000;

export interface PodSessionOptions {
  readonly sandbox: SandboxSpec;
  readonly pod: RunningPod;
  readonly settings: Pick<SandboxSettings, 'limits' | 'kubernetes' | 'mayStart'>;
  /** The copy of the thread's files; it is closed with the session. */
  readonly mirror: CopyMirror;
  readonly skills: Pick<CopyMirrors, 'skills'>;
  readonly ownUsers: boolean;
  /** Whether its agent has answered a short time ago: it is not asked again, as each command asks before it starts. Default false. */
  readonly hasAnswered?: boolean;
  readonly egress: PodEgress | undefined;
  readonly clock: Clock;
}

/** A pod that serves a sandbox, and this manager's connection to its agent. */
export interface PodSession {
  readonly sandbox: SandboxSpec;
  readonly pod: RunningPod;
  readonly client: AgentClient;
  readonly egress: AgentEgress | undefined;
  /** Ends the connection and the lease; what runs in the pod ends with them. Idempotent. */
  close(): Promise<void>;
}

/**
 * Opens the connection to a pod's agent, whose lease is extended from then on, as long as this manager may start commands.
 *
 * @throws {UnavailableError} when the agent does not answer, unless it `hasAnswered`
 */
export async function openPodSession(options: PodSessionOptions): Promise<PodSession> {
  const { sandbox, pod, settings, mirror, skills, ownUsers, clock } = options;
  const client = new HttpAgentClient({
    endpoint: { host: pod.address, port: settings.kubernetes.agentPort, token: pod.token },
    ...{ mirror, skills, ownUsers, clock, limits: settings.limits },
  });
  const lease = new RepeatedTask({
    clock,
    everyMs: HOLD_MS,
    retryMs: RETRY_MS,
    work: async () => {
      if (settings.mayStart?.() !== false) await client.hold(LEASE_MS);
    },
    onFailure: (error) => {
      // The next command finds out that the pod is gone, and says why.
      if (!(error instanceof UnavailableError)) throw error;
    },
  });
  let egress: AgentEgress | undefined;
  const close = async (): Promise<void> => {
    if (egress !== undefined) options.egress?.end(egress);
    await Promise.all([lease.stop(), client.close()]);
  };
  try {
    egress = await options.egress?.open(sandbox);
    if (options.hasAnswered !== true) await client.hold(LEASE_MS);
  } catch (error) {
    await close();
    throw error;
  }
  lease.start();
  return { sandbox, pod, client, egress, close };
}

/** Tells the agent of a warm pod that its manager lives. @throws {UnavailableError} when it does not answer */
export async function holdWarmPod(
  pod: RunningPod,
  { limits, kubernetes }: PodSessionOptions['settings'],
): Promise<void> {
  const client = new HttpAgentClient({
    endpoint: { host: pod.address, port: kubernetes.agentPort, token: pod.token },
    mirror: await NO_FILES.open({ userId: '', threadId: '' }),
    skills: NO_FILES,
    ...{ limits, clock: systemClock, ownUsers: false },
  });
  try {
    await client.health();
  } finally {
    await client.close();
  }
}
