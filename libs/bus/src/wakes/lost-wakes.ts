import { streams, type WakeRole, wakeSubject } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { JetStreamManager } from 'nats';
import { jetStreamCode, jetStreamCodes, natsFailure } from '../connection/nats-errors.js';
import type { NatsLink } from '../connection/nats-link.js';
import { removeMessage } from '../connection/remove-message.js';

const API_TIMEOUT_MS = 3_000;

/**
 * Removes the thread's wake when its position is at or before the last one that the consumer delivered: a runner holds
 * it or it will never be delivered, and the stream does not show which.
 *
 * @returns whether there was one
 * @throws {UnavailableError}
 */
export async function removeLostWake(
  link: NatsLink,
  role: WakeRole,
  { userId, threadId }: ThreadKey,
): Promise<boolean> {
  const { name, consumer } = streams[role];
  const subject = wakeSubject(role, userId, threadId);
  try {
    return await link.whileUp(async (connection) => {
      const manager = await connection.jetstreamManager({ timeout: API_TIMEOUT_MS, checkAPI: false });
      const sequence = await findStoredSequence(manager, name, subject);
      if (sequence === undefined) return false;
      const { delivered } = await manager.consumers.info(name, consumer);
      if (sequence > delivered.stream_seq) return false;
      await removeMessage(manager, name, sequence);
      return true;
    });
  } catch (cause) {
    throw natsFailure('replace a lost wake', cause);
  }
}

async function findStoredSequence(
  manager: JetStreamManager,
  stream: string,
  subject: string,
): Promise<number | undefined> {
  try {
    return (await manager.streams.getMessage(stream, { last_by_subj: subject })).seq;
  } catch (cause) {
    if (jetStreamCode(cause) === jetStreamCodes.messageNotFound) return undefined;
    throw cause;
  }
}
