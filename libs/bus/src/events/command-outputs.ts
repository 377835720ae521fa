import { commandOutputSubject, OutputPiece } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { CommandOutputs } from '../connection/bus.js';
import type { NatsLink } from '../connection/nats-link.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Publishes the output of running commands. Pieces may be lost, as the result contains all of it. */
export function createCommandOutputs(link: NatsLink, logger: Logger): CommandOutputs {
  return {
    publishOutput: (command, piece) => {
      const subject = commandOutputSubject(command);
      if (subject === undefined || !link.connected) return;
      try {
        link.connection.publish(subject, encoder.encode(JSON.stringify(piece)));
      } catch (error) {
        logger.debug({ error, threadId: command.threadId }, 'nats: output of a command was not published');
      }
    },
    subscribeOutput: (command, listener) => {
      const subject = commandOutputSubject(command);
      if (subject === undefined) return () => undefined;
      return link.subscribe(subject, ({ data }) => {
        const piece = readPiece(data);
        if (piece === undefined) logger.warn({ threadId: command.threadId }, 'nats: output that cannot be read');
        else listener(piece);
      });
    },
  };
}

function readPiece(data: Uint8Array): OutputPiece | undefined {
  try {
    return OutputPiece.safeParse(JSON.parse(decoder.decode(data))).data;
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
