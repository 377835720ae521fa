import { createHash, randomBytes, randomInt } from 'node:crypto';
import { get as httpGet } from 'node:http';
import { UnavailableError } from '@caribou/contracts';
import type { Clock } from '@caribou/core';
import { ApiFailure } from '../api/api-failure.js';
import type { Pod } from '../api/pod.js';
import type { PodsApi } from '../api/pods-api.js';
import { newPodName } from './pod-names.js';
import type { PodRemover } from './pod-remover.js';
import { type PodIdentity, POD_USER, podManifest, type PodSettings, SKILLS_FOR_AGENT } from './pod-spec.js';
import { type PodState, stateOf } from './pod-state.js';
import type { PodWatcher } from './pod-watcher.js';

/** A pod whose agent answers. */
export interface RunningPod {
  readonly name: string;
  readonly uid: string;
  readonly address: string;
  /** The user of its agent and commands, as they see it. */
  readonly user: number;
  /** What the agent asks for with each request; in the memory of this process only. */
  readonly token: string;
  /** Whether it has waited for a thread; its agent is asked now and then meanwhile. */
  readonly isWarm?: boolean;
}

export interface PodStarterOptions {
  readonly settings: PodSettings;
  readonly api: Pick<PodsApi, 'create' | 'warnings'>;
  readonly watcher: Pick<PodWatcher, 'until'>;
  readonly remover: Pick<PodRemover, 'remove'>;
  readonly clock: Clock;
  /** Without its manager for so long an agent ends, and its pod with it; milliseconds. */
  readonly orphanMs: number;
}

export type PodPurpose = Pick<PodIdentity, 'labels' | 'annotations' | 'hasUserNamespace' | 'isTrial'> & {
  /** What the pod's name begins with. */
  readonly prefix: string;
};

const TOKEN_BYTES = 32;
/** Above those that machines give to their users and to user namespaces, below the largest that Kubernetes takes. */
const OWN_USERS = { first: 1_500_000_000, end: 2_147_000_000 };
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 500;
const HEALTH_MS = 2_000;
const NO_CONTENT = 204;
/** How often it is looked what a node says about a pod that starts. */
const WARNINGS_MS = 4_000;
/** What a node says that no time changes. */
const HOPELESS = /does not support user namespaces|user namespaces? .*not (?:supported|enabled)|no runtime for "/i;
const MAX_TEXT = 600;

/** Creates pods and waits until their agents answer. */
export class PodStarter {
  constructor(private readonly options: PodStarterOptions) {}

  /**
   * A new pod whose agent answers.
   *
   * @throws {UnavailableError} with what to change; nothing of the pod is left then
   */
  async start(purpose: PodPurpose, signal?: AbortSignal): Promise<RunningPod> {
    const { settings, api, remover, clock } = this.options;
    const endsAtMs = clock.monotonicMs() + settings.kubernetes.startMs;
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const { prefix, ...rest } = purpose;
    const user = userOf(purpose);
    const identity = { ...rest, user, name: newPodName(prefix), agentEnvironment: this.environmentOf(token) };
    const made = await api.create(podManifest(settings, identity));
    const { name, uid } = made.metadata;
    try {
      const address = await this.untilRunning(made, { endsAtMs, signal });
      await this.untilAnswering(made, address, { endsAtMs, signal });
      return { name, uid, address, user, token };
    } catch (error) {
      await remover.remove({ name, uid });
      throw error;
    }
  }

  private environmentOf(token: string): Readonly<Record<string, string>> {
    return {
      CARIBOU_AGENT_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
      CARIBOU_AGENT_PORT: String(this.options.settings.kubernetes.agentPort),
      CARIBOU_AGENT_SKILLS: SKILLS_FOR_AGENT,
      CARIBOU_AGENT_ORPHAN_MS: String(this.options.orphanMs),
    };
  }

  private async untilRunning(made: Pod, wait: Wait): Promise<string> {
    let last: PodState = stateOf(made);
    const judge = (pod: Pod | null): string | undefined => {
      last = stateOfLiving(pod, made);
      return last.kind === 'running' ? last.address : undefined;
    };
    let warnings: readonly string[] = [];
    for (let left = this.left(wait); left.timeoutMs > 0; left = this.left(wait)) {
      const timeoutMs = Math.min(left.timeoutMs, WARNINGS_MS);
      const address = await this.options.watcher.until(made.metadata.name, judge, { ...left, timeoutMs });
      if (address !== undefined) return address;
      warnings = await this.options.api.warnings(made.metadata.uid);
      const hopeless = warnings.find((warning) => HOPELESS.test(warning));
      if (hopeless !== undefined) throw startFailure(hopeless);
    }
    const state = last.kind === 'starting' ? last.why : 'its state is not known';
    const why = [state, ...warnings.slice(-1)].join('; ').slice(0, MAX_TEXT);
    throw startFailure(`within ${this.options.settings.kubernetes.startMs} ms (sandbox.kubernetes.start_ms): ${why}`);
  }

  /** @throws {UnavailableError} as soon as the pod has ended, too */
  private async untilAnswering(made: Pod, address: string, wait: Wait): Promise<void> {
    const { agentPort } = this.options.settings.kubernetes;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      if (await answers(address, agentPort)) return;
      const { timeoutMs, ...rest } = this.left(wait);
      if (timeoutMs < pauseMs)
        throw startFailure(
          `its agent does not answer at ${address}:${agentPort}: does a network policy allow connections from the sandbox-manager?`,
        );
      await this.pauseWhileAlive(made, { ...rest, timeoutMs: pauseMs });
    }
  }

  private async pauseWhileAlive(made: Pod, options: { timeoutMs: number; signal?: AbortSignal }): Promise<void> {
    const judge = (pod: Pod | null): undefined => void stateOfLiving(pod, made);
    try {
      await this.options.watcher.until(made.metadata.name, judge, options);
    } catch (error) {
      // An API server that is away does not matter to a pod that runs.
      if (!(error instanceof ApiFailure) || !error.isTransient) throw error;
    }
  }

  private left({ endsAtMs, signal }: Wait): { timeoutMs: number; signal?: AbortSignal } {
    const timeoutMs = Math.max(0, endsAtMs - this.options.clock.monotonicMs());
    return signal === undefined ? { timeoutMs } : { timeoutMs, signal };
  }
}

/**
 * Without user namespaces each pod has a user of its own, which no other process of a node is: the kernel counts processes
 * by user, and a limit of them is to bound one pod, not all of a node together.
 */
const userOf = ({ hasUserNamespace }: PodPurpose): number =>
  hasUserNamespace ? POD_USER : randomInt(OWN_USERS.first, OWN_USERS.end);

interface Wait {
  readonly endsAtMs: number;
  readonly signal: AbortSignal | undefined;
}

/** @throws {UnavailableError} when the pod cannot start or has ended */
function stateOfLiving(pod: Pod | null, made: Pod): PodState {
  if (pod?.metadata.uid !== made.metadata.uid) throw startFailure('the pod was deleted while it started');
  const state = stateOf(pod);
  if (state.kind === 'failed' || state.kind === 'ended') throw startFailure(state.why);
  return state;
}

/** A pod did not start; the text says why. */
export class PodStartError extends UnavailableError {}

const startFailure = (why: string): PodStartError =>
  new PodStartError(`kubernetes: the pod of a sandbox did not start: ${why}`, {
    details: { dependency: 'kubernetes' },
  });

/** Whether the agent answers a question about its health, which needs no token. */
function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = httpGet({ host, port, path: '/healthz', agent: false, timeout: HEALTH_MS }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === NO_CONTENT);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
