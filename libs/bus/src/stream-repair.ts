import type { Logger } from '@caribou/core';
import type { ConsumerInfo, JetStreamManager, StreamInfo } from 'nats';
import { removeMessage } from './remove-message.js';
import type { StreamSpec } from './stream-specs.js';

/** Most messages that one look removes (R1). */
const MAX_REMOVED = 100;

interface Parts {
  readonly manager: JetStreamManager;
  readonly spec: StreamSpec;
  readonly logger: Logger;
}

/**
 * Repairs what kill -9 of a nats-server leaves between a stream and its consumer:
 *
 * R1 What the consumer has acknowledged is removed from the stream: the server can have such messages again, delivers
 *    them to nobody and refuses further ones of their subjects. They are deleted one by one: with any purge nats-server
 *    2.9.10 forgets what is delivered and not acknowledged, so that a wake given back never comes again.
 * R2 A stream whose end lies before the position of its consumer begins again after that position: the server can have
 *    lost messages whose delivery it remembers, and it delivers none that gets their numbers. What is removed with that
 *    was a nudge only: the truth is in Redis.
 */
export async function repairStream(making: Parts, { state }: StreamInfo, consumer: ConsumerInfo): Promise<void> {
  const { stream_seq: delivered } = consumer.delivered;
  if (delivered > state.last_seq && (await skipDelivered(making, consumer))) return;
  if (state.messages > 0 && state.first_seq <= delivered) await removeAcknowledged(making, consumer);
}

/** R1 */
async function removeAcknowledged({ manager, spec, logger }: Parts, consumer: ConsumerInfo): Promise<void> {
  const { delivered, ack_floor: floor, num_ack_pending: unacknowledged } = consumer;
  const last = unacknowledged === 0 ? delivered.stream_seq : floor.stream_seq;
  for (let removed = 0; removed <= MAX_REMOVED; removed += 1) {
    const { state } = await manager.streams.info(spec.name);
    if (state.messages > 0 && state.first_seq <= last && removed < MAX_REMOVED) {
      await removeMessage(manager, spec.name, state.first_seq);
      continue;
    }
    if (removed > 0)
      logger.warn({ stream: spec.name, count: removed }, 'nats: acknowledged messages were there, removed');
    return;
  }
}

/** R2. Whether the stream had to begin again. */
async function skipDelivered({ manager, spec, logger }: Parts, { delivered }: ConsumerInfo): Promise<boolean> {
  // Looked at after the consumer: the end of a stream that is whole is never before what was delivered of it.
  const { state } = await manager.streams.info(spec.name);
  if (delivered.stream_seq <= state.last_seq) return false;
  await manager.streams.purge(spec.name, { seq: delivered.stream_seq + 1 });
  const fields = { stream: spec.name, count: state.messages };
  logger.warn(fields, 'nats: the newest messages of the stream were lost, it begins again after them');
  return true;
}
