import { CANCEL_ALL, CancelAction, cancelSubject } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import { z } from 'zod';
import type { Cancels } from '../connection/bus.js';
import type { NatsLink } from '../connection/nats-link.js';

const Payload = z.object({ action: CancelAction });

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Broadcasts cancels, so that they are noticed earlier than by reading the flag in Redis. */
export function createCancels(link: NatsLink, logger: Logger): Cancels {
  return {
    publishCancel: (runId, action) => {
      if (!link.connected) return;
      link.connection.publish(cancelSubject(runId), encoder.encode(JSON.stringify({ action })));
    },
    subscribeCancels: (listener) =>
      link.subscribe(CANCEL_ALL, ({ subject, data }) => {
        const runId = subject.slice(subject.indexOf('.') + 1);
        const action = readAction(data);
        if (action === undefined) logger.warn({ runId }, 'nats: a cancel without a known action is ignored');
        else listener(runId, action);
      }),
  };
}

function readAction(data: Uint8Array): CancelAction | undefined {
  try {
    return Payload.safeParse(JSON.parse(decoder.decode(data))).data?.action;
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
