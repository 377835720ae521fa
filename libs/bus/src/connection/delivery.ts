import { type Msg, nanos } from 'nats';
import type { NatsLink } from './nats-link.js';

/**
 * A message of a JetStream consumer and the possible answers to it. After the first answer, further ones are not sent.
 */
export interface Delivery {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly redelivered: boolean;
  /** Acknowledges it; resolves true once the server has confirmed. @throws NatsError when it did not in time */
  ack(timeoutMs: number): Promise<boolean>;
  /** Returns it to the server, which delivers it again after `delayMs`. */
  nak(delayMs: number): void;
  /** Ends its delivery: it is not delivered again. */
  term(): void;
}

const EMPTY_REPLY = '';

/** Answers are sent on the current connection; without one the message is delivered again after the ack wait. */
export function deliveryOf(message: Msg, link: NatsLink): Delivery {
  const { subject, data, reply = EMPTY_REPLY } = message;
  let settled = false;
  const say = (answer: string): void => {
    if (settled || !link.connected) return;
    settled = true;
    link.connection.publish(reply, answer);
  };
  return {
    subject,
    data,
    redelivered: deliveryCount(reply) > 1,
    ack: async (timeoutMs) => {
      if (settled || !link.connected) return false;
      settled = true;
      await link.connection.request(reply, '+ACK', { timeout: timeoutMs });
      return true;
    },
    nak: (delayMs) => say(`-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`),
    term: () => say('+TERM'),
  };
}

/**
 * Number of tokens before the delivery count in `$JS.ACK.<stream>.<consumer>.…`, and in the form with domain and
 * account.
 */
const [TOKENS_BEFORE, TOKENS_BEFORE_WITH_DOMAIN] = [4, 6];
const TOKENS_WITHOUT_DOMAIN = 9;

function deliveryCount(reply: string): number {
  const tokens = reply.split('.');
  return Number(tokens[tokens.length === TOKENS_WITHOUT_DOMAIN ? TOKENS_BEFORE : TOKENS_BEFORE_WITH_DOMAIN]);
}
