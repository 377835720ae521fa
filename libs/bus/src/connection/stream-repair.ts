import type { Logger } from '@caribou/core';
import type { ConsumerInfo, JetStreamManager, StreamInfo } from 'nats';
import { removeMessage } from './remove-message.js';
import type { StreamSpec } from './stream-specs.js';

/** Maximum number of messages that one check removes (R2). */
const MAX_REMOVED = 100;

interface Parts {
  readonly manager: JetStreamManager;
  readonly spec: StreamSpec;
  readonly logger: Logger;
}

/**
 * Repairs inconsistencies between a stream and its consumer after kill -9 of a nats-server. Only notifications are
 * removed: the source of truth is in Redis, and a sweep wakes every thread that has work and no owner.
 *
 * R1 When a consumer has delivered nothing since its server started, everything up to its position is purged. The
 *    server can have acknowledged messages again, which it delivers to nobody while it
 *    refuses further ones of their subjects; it can wait for the acknowledgement of messages that it does not have; and
 *    it can have lost messages whose delivery it remembers, and then delivers none that get their numbers. In a
 *    cluster, the other servers have the correct state.
 * R2 Later, what the consumer has acknowledged or forgotten is deleted one by one: with any purge nats-server 2.9.10
 *    forgets which messages are unacknowledged, so that a returned wake is never delivered again.
 */
export async function repairStream(parts: Parts, stream: StreamInfo, consumer: ConsumerInfo): Promise<void> {
  const { state, config } = stream;
  const { stream_seq: delivered } = consumer.delivered;
  const hasDelivered = state.messages > 0 && state.first_seq <= delivered;
  const isUnclean = hasDelivered || consumer.num_ack_pending > 0 || delivered > state.last_seq;
  if (isUnclean && config.num_replicas === 1 && isUnused(consumer)) await beginAfter(parts, delivered);
  else if (hasDelivered) await removeAcknowledged(parts, consumer);
}

/** Whether the consumer was not active yet: the server only reports activity since its own start. */
const isUnused = ({ delivered, ack_floor: floor }: ConsumerInfo): boolean =>
  delivered.last_active === undefined && floor.last_active === undefined;

/** R1 */
async function beginAfter({ manager, spec, logger }: Parts, delivered: number): Promise<void> {
  const { purged } = await manager.streams.purge(spec.name, { seq: delivered + 1 });
  const fields = { stream: spec.name, count: purged };
  logger.info(fields, 'nats: messages from before the start of the server were purged');
}

/** R2 */
async function removeAcknowledged({ manager, spec, logger }: Parts, consumer: ConsumerInfo): Promise<void> {
  const { delivered, ack_floor: floor, num_ack_pending: unacknowledged } = consumer;
  const last = unacknowledged === 0 ? delivered.stream_seq : floor.stream_seq;
  for (let removed = 0; removed <= MAX_REMOVED; removed += 1) {
    const { state } = await manager.streams.info(spec.name);
    if (state.messages > 0 && state.first_seq <= last && removed < MAX_REMOVED) {
      await removeMessage(manager, spec.name, state.first_seq);
      continue;
    }
    if (removed > 0) logger.warn({ stream: spec.name, count: removed }, 'nats: acknowledged messages were removed');
    return;
  }
}
