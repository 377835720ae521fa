import { type WakeRole, wakeSubject } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { DeadLetters, PullOptions, WakePull, Wakes } from './bus.js';
import { isNoResponders, jetStreamCode, jetStreamCodes, natsFailure } from './nats-errors.js';
import type { NatsLink } from './nats-link.js';
import type { StreamKeeper } from './stream-keeper.js';
import { encodeWake } from './wake-message.js';
import { WakePuller } from './wake-puller.js';

const PUBLISH_TIMEOUT_MS = 2_000;

export interface WakeParts {
  readonly link: NatsLink;
  readonly keeper: StreamKeeper;
  readonly deadLetters: DeadLetters;
  readonly logger: Logger;
}

interface EncodedWake {
  readonly subject: string;
  readonly data: Uint8Array;
}

/** The wakes of a role's stream, both ends; `stop` ends all its pulls. */
export function createWakes(role: WakeRole, parts: WakeParts): Wakes & { stop(): void } {
  const pulls = new Set<WakePuller>();
  return {
    publish: async (thread) => {
      const wake = { subject: wakeSubject(role, thread.userId, thread.threadId), data: encodeWake(thread) };
      try {
        await publishOnce(parts.link, wake);
      } catch (cause) {
        if (!isNoResponders(cause)) throw natsFailure('wake a thread', cause);
        await again(parts, wake);
      }
    },
    pull: (options: PullOptions): WakePull => {
      const pull = new WakePuller(role, parts, options);
      pulls.add(pull);
      return pull;
    },
    hasRunners: () => parts.keeper.hasPullers(role),
    stop: () => {
      for (const pull of pulls) pull.stop();
    },
  };
}

/** The stream is gone: once more, after making it again. */
async function again({ link, keeper }: WakeParts, wake: EncodedWake): Promise<void> {
  await keeper.ensure();
  try {
    await publishOnce(link, wake);
  } catch (cause) {
    throw natsFailure('wake a thread', cause);
  }
}

async function publishOnce(link: NatsLink, { subject, data }: EncodedWake): Promise<void> {
  try {
    await link.whileUp((connection) =>
      connection.jetstream({ timeout: PUBLISH_TIMEOUT_MS }).publish(subject, data, { timeout: PUBLISH_TIMEOUT_MS }),
    );
  } catch (cause) {
    if (jetStreamCode(cause) !== jetStreamCodes.tooManyPerSubject) throw cause;
  }
}
