import type { Bus, BusOptions } from './connection/bus.js';
import { createCancels } from './events/cancels.js';
import { createCommandOutputs } from './events/command-outputs.js';
import { createConfigChanges } from './events/config-changes.js';
import { createDeadLetters } from './wakes/dead-letters.js';
import { natsFailure } from './connection/nats-errors.js';
import { NatsLink } from './connection/nats-link.js';
import { createRpcClient, natsRequests } from './rpc/rpc-client.js';
import { createScatter } from './rpc/scatter.js';
import { createRunEvents } from './events/run-events.js';
import { StreamProvisioner } from './connection/stream-provisioner.js';
import { streamSpec } from './connection/stream-specs.js';
import { createThreadRuns } from './events/thread-runs.js';
import { createHandoffs } from './wakes/handoffs.js';
import { createWakes } from './wakes/wakes.js';

const DRAIN_MS = 2_000;

/** Unacknowledged wakes over all runners: far above the slots of any installation, so that slots are the limit. */
const MAX_ACK_PENDING = 20_000;

/**
 * Creates the bus of one process. It returns at once: the connection is established in the background and restored
 * whenever it is lost. `connected` shows its state; without a connection, calls that need it throw UnavailableError.
 */
export function connectBus(options: BusOptions): Bus {
  const { logger, ackWaitMs = 10_000, maxAckPending = MAX_ACK_PENDING, checkMs = 5_000, replicas = 1 } = options;
  const link = new NatsLink(options);
  const specs = options.streams.map((role) => streamSpec(role, { ackWaitMs, maxAckPending, replicas }));
  const provisioner = new StreamProvisioner(link, {
    specs,
    checkMs,
    logger,
    makes: options.access?.makesStreams ?? true,
  });
  const deadLetters = createDeadLetters(link, provisioner);
  const parts = { link, provisioner, deadLetters, logger };
  const send = natsRequests(link);
  const wakes = {
    turns: createWakes('turns', parts),
    subagents: createWakes('subagents', parts),
    memory: createWakes('memory', parts),
  };
  return {
    get connected() {
      return link.connected;
    },
    waitUntilConnected: (signal) => link.waitUntilConnected(signal),
    ping: (timeoutMs) => link.flush(timeoutMs),
    checkStreams: () => provisioner.ensure(),
    ...createRpcClient(send),
    ...createScatter(link, logger),
    ...createHandoffs(link, send, logger),
    wakes: (role) => wakes[role],
    ...createRunEvents(link, logger),
    ...createCancels(link, logger),
    ...createCommandOutputs(link, logger),
    ...createConfigChanges(link),
    ...createThreadRuns(link),
    ...deadLetters,
    close: async (timeoutMs = DRAIN_MS) => {
      for (const role of Object.values(wakes)) role.stop();
      try {
        await link.close(timeoutMs);
      } catch (cause) {
        logger.warn(
          { error: natsFailure('close the connection', cause) },
          'nats: the connection did not close cleanly',
        );
      }
    },
  };
}
