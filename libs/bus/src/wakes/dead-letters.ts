import { deadLetterSubject } from '@caribou/contracts';
import type { DeadLetters } from '../connection/bus.js';
import { isNoResponders, natsFailure } from '../connection/nats-errors.js';
import type { NatsLink } from '../connection/nats-link.js';
import type { StreamProvisioner } from '../connection/stream-provisioner.js';

const PUBLISH_TIMEOUT_MS = 2_000;
const MAX_LETTER_BYTES = 256 * 1024;

const encoder = new TextEncoder();

/** Writes to the stream of dead letters, whose age and size are limited. */
export function createDeadLetters(link: NatsLink, provisioner: StreamProvisioner): DeadLetters {
  const publish = async (subject: string, data: Uint8Array, id: string): Promise<void> => {
    const options = { timeout: PUBLISH_TIMEOUT_MS, msgID: `${subject} ${id}` };
    await link.whileUp((connection) => connection.jetstream().publish(subject, data, options));
  };
  return {
    deadLetter: async (kind, id, entry) => {
      const subject = deadLetterSubject(kind, id.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64));
      const data = encodeLetter(entry);
      try {
        await publish(subject, data, id).catch(async (cause: unknown) => {
          if (!isNoResponders(cause)) throw cause;
          await provisioner.ensure();
          await publish(subject, data, id);
        });
      } catch (cause) {
        throw natsFailure('write a dead letter', cause);
      }
    },
  };
}

function encodeLetter(entry: Readonly<Record<string, unknown>>): Uint8Array {
  const text = JSON.stringify(entry);
  const data = encoder.encode(text);
  if (data.length <= MAX_LETTER_BYTES) return data;
  // A quarter of the limit leaves space for the escapes and the bytes of each character.
  return encoder.encode(
    JSON.stringify({ truncated: true, bytes: data.length, start: text.slice(0, MAX_LETTER_BYTES / 6) }),
  );
}
