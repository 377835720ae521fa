import { type Msg, nanos } from 'nats';
import type { NatsLink } from './nats-link.js';

/** A message of a JetStream consumer and what can be said about it; after the first answer but `working` it says nothing more. */
export interface Delivery {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly redelivered: boolean;
  /** Resolves true once the server has confirmed. @throws NatsError when it did not in time */
  ack(timeoutMs: number): Promise<boolean>;
  /** Gives it back, to come again after `delayMs`. */
  nak(delayMs: number): void;
  /** Asks for another ack wait. */
  working(): void;
  /** It shall not come again. */
  term(): void;
}

const EMPTY_REPLY = '';

/** Answers go out on the connection of the moment; without one they are left to the ack wait. */
export function deliveryOf(message: Msg, link: NatsLink): Delivery {
  const { subject, data, reply = EMPTY_REPLY } = message;
  let settled = false;
  const say = (answer: string, isLast: boolean): void => {
    if (settled || !link.connected) return;
    settled = isLast;
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
    nak: (delayMs) => say(`-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`, true),
    working: () => say('+WPI', false),
    term: () => say('+TERM', true),
  };
}

/** Tokens before the delivery count in `$JS.ACK.<stream>.<consumer>.…`, and in the form with domain and account. */
const [TOKENS_BEFORE, TOKENS_BEFORE_WITH_DOMAIN] = [4, 6];
const TOKENS_WITHOUT_DOMAIN = 9;

function deliveryCount(reply: string): number {
  const tokens = reply.split('.');
  return Number(tokens[tokens.length === TOKENS_WITHOUT_DOMAIN ? TOKENS_BEFORE : TOKENS_BEFORE_WITH_DOMAIN]);
}
