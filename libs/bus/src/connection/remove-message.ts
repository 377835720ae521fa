import type { JetStreamManager } from 'nats';
import { jetStreamCode, jetStreamCodes } from './nats-errors.js';

/** Removes a message of a stream by its number; a message that no longer exists is not a failure. */
export async function removeMessage(manager: JetStreamManager, stream: string, sequence: number): Promise<void> {
  try {
    await manager.streams.deleteMessage(stream, sequence, false);
  } catch (cause) {
    const code = jetStreamCode(cause);
    if (code !== jetStreamCodes.messageNotFound && code !== jetStreamCodes.messageNotDeleted) throw cause;
  }
}
