import { turnSubject } from '@caribou/contracts';
import type { Logger, ThreadKey } from '@caribou/core';
import type { DeadLetters, PullOptions, WakePull, Wakes } from './bus.js';
import { isNoResponders, jetStreamCode, jetStreamCodes, natsFailure } from './nats-errors.js';
import type { NatsLink } from './nats-link.js';
import type { StreamKeeper } from './stream-keeper.js';
import { TurnPull } from './turn-pull.js';
import { encodeWake } from './wake-message.js';

const PUBLISH_TIMEOUT_MS = 2_000;

export interface WakeParts {
  readonly link: NatsLink;
  readonly keeper: StreamKeeper;
  readonly deadLetters: DeadLetters;
  readonly logger: Logger;
}

/** The wakes of the stream TURNS, both ends. */
export function createWakes(parts: WakeParts): Wakes & { stop(): void } {
  const pulls = new Set<TurnPull>();
  return {
    publishWake: async (thread) => {
      try {
        await publishOnce(parts.link, thread);
      } catch (cause) {
        if (!isNoResponders(cause)) throw natsFailure('wake a thread', cause);
        await again(parts, thread);
      }
    },
    pullWakes: (options: PullOptions): WakePull => {
      const pull = new TurnPull(parts, options);
      pulls.add(pull);
      return pull;
    },
    hasRunners: () => parts.keeper.hasPullers('turns'),
    stop: () => {
      for (const pull of pulls) pull.stop();
    },
  };
}

/** The stream is gone: once more, after making it again. */
async function again({ link, keeper }: WakeParts, thread: ThreadKey): Promise<void> {
  await keeper.ensure();
  try {
    await publishOnce(link, thread);
  } catch (cause) {
    throw natsFailure('wake a thread', cause);
  }
}

async function publishOnce(link: NatsLink, thread: ThreadKey): Promise<void> {
  const subject = turnSubject(thread.userId, thread.threadId);
  try {
    await link.whileUp((connection) =>
      connection
        .jetstream({ timeout: PUBLISH_TIMEOUT_MS })
        .publish(subject, encodeWake(thread), { timeout: PUBLISH_TIMEOUT_MS }),
    );
  } catch (cause) {
    if (jetStreamCode(cause) !== jetStreamCodes.tooManyPerSubject) throw cause;
  }
}
