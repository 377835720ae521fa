import { type WakeRole, wakeSubject } from '@caribou/contracts';
import type { Logger, ThreadKey } from '@caribou/core';
import type { DeadLetters, PublishedWake, PullOptions, WakePull, Wakes } from '../connection/bus.js';
import { removeLostWake } from './lost-wakes.js';
import { isNoResponders, isOnePerSubject, natsFailure } from '../connection/nats-errors.js';
import type { NatsLink } from '../connection/nats-link.js';
import type { StreamProvisioner } from '../connection/stream-provisioner.js';
import { encodeWake } from './wake-message.js';
import { WakePuller } from './wake-puller.js';

const PUBLISH_TIMEOUT_MS = 2_000;

export interface WakeParts {
  readonly link: NatsLink;
  readonly provisioner: StreamProvisioner;
  readonly deadLetters: DeadLetters;
  readonly logger: Logger;
}

interface EncodedWake {
  readonly subject: string;
  readonly data: Uint8Array;
}

/** Publishes and receives the wakes of a role's stream; `stop` ends all its pulls. */
export function createWakes(role: WakeRole, parts: WakeParts): Wakes & { stop(): void } {
  const pulls = new Set<WakePuller>();
  /** The thread whose wake was refused last, if none was stored since. */
  let refused: ThreadKey | undefined;
  const publish = async (thread: ThreadKey): Promise<PublishedWake> => {
    refused = thread;
    const outcome = await publishWake(parts, role, thread);
    refused = undefined;
    return outcome;
  };
  return {
    publish,
    replaceLost: async (thread) => {
      if (!(await removeLostWake(parts.link, role, thread))) return false;
      await publish(thread);
      return true;
    },
    checkPublishing: async () => {
      if (refused !== undefined) await publish(refused);
    },
    pull: (options: PullOptions): WakePull => {
      const pull = new WakePuller(role, parts, options);
      pulls.add(pull);
      return pull;
    },
    hasRunners: () => parts.provisioner.hasPullers(role),
    stop: () => {
      for (const pull of pulls) pull.stop();
    },
  };
}

async function publishWake(parts: WakeParts, role: WakeRole, thread: ThreadKey): Promise<PublishedWake> {
  const wake = { subject: wakeSubject(role, thread.userId, thread.threadId), data: encodeWake(thread) };
  try {
    return await publishOnce(parts.link, wake);
  } catch (cause) {
    if (!isNoResponders(cause)) throw natsFailure('wake a thread', cause);
    return await again(parts, wake);
  }
}

/** The stream is gone: it is created, and the wake published again. */
async function again({ link, provisioner }: WakeParts, wake: EncodedWake): Promise<PublishedWake> {
  await provisioner.ensure();
  try {
    return await publishOnce(link, wake);
  } catch (cause) {
    throw natsFailure('wake a thread', cause);
  }
}

async function publishOnce(link: NatsLink, { subject, data }: EncodedWake): Promise<PublishedWake> {
  try {
    await link.whileUp((connection) =>
      connection.jetstream({ timeout: PUBLISH_TIMEOUT_MS }).publish(subject, data, { timeout: PUBLISH_TIMEOUT_MS }),
    );
    return 'stored';
  } catch (cause) {
    if (isOnePerSubject(cause)) return 'waiting';
    throw cause;
  }
}
