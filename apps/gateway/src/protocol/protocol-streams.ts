import { type EventFilter, PROTOCOL_CHANNELS, type RouteInput, type protocolRoutes } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { RunEventLog, ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Dependency, type GatewayBus } from '../dependency.js';
import { OpenStreams } from '../runs/streams/open-streams.js';
import { EVENT_STREAM, LongAnswers } from '../runs/streams/long-answers.js';
import type { SseWriter } from '../runs/streams/sse-writer.js';
import type { GatewaySettings } from '../settings.js';
import { type Filter, isDelivered } from './event-filter.js';
import { eventParts } from './projected-event.js';
import { seqOfEventId } from './sequence.js';
import { currentPosition } from './thread-position.js';
import { type EventSink, ThreadStream, type ThreadStreamPorts } from './thread-stream.js';
import { ThreadWatches } from './thread-watches.js';

/** Streams the events of threads: as server-sent events here, and for the subscriptions of sockets. */
@Injectable()
export class ProtocolStreams {
  private readonly watches: ThreadWatches;

  constructor(
    @Dependency('threadStore') private readonly store: ThreadStore,
    @Dependency('eventLog') private readonly log: RunEventLog,
    @Dependency('bus') private readonly bus: GatewayBus,
    @Dependency('settings') private readonly settings: GatewaySettings,
    private readonly answers: LongAnswers,
    private readonly open: OpenStreams,
  ) {
    this.watches = new ThreadWatches({ store, bus }, settings.heartbeatMs);
  }

  /**
   * Sends the events of a thread until the client leaves.
   *
   * @throws {QuotaError} when the user has too many streams open
   */
  async send(thread: ThreadKey, filter: EventFilter, reply: FastifyReply): Promise<void> {
    await this.answers.respond({ userId: thread.userId, reply }, async () => {
      // Fixed before the client learns that the stream is open: what it starts then is shown.
      const since = filter.since ?? (await this.currentPosition(thread));
      return {
        ...EVENT_STREAM,
        beatMs: this.settings.heartbeatMs,
        about: { threadId: thread.threadId },
        write: async (writer) => {
          // Clients wait for the headers, and there may be no event for long.
          writer.begin();
          await this.follow(thread, [since], sinkOf(writer, filter));
        },
      };
    });
  }

  /** Gives the events of a thread to a sink until its signal aborts. @throws the signal's reason */
  follow(thread: ThreadKey, since: readonly number[], sink: EventSink): Promise<never> {
    return new ThreadStream(this.ports, { thread, since, checkMs: this.settings.heartbeatMs }, sink).run();
  }

  /** The number after which a stream without `since` begins. @throws {UnavailableError} */
  currentPosition(thread: ThreadKey): Promise<number> {
    return currentPosition((limit) => this.store.newestRuns(thread, limit));
  }

  private get ports(): ThreadStreamPorts {
    const { store, log, bus, watches, open } = this;
    return { store, log, bus, watches, values: open.values, onGap: () => open.countGap() };
  }
}

const sinkOf = (writer: SseWriter, filter: Filter): EventSink => ({
  signal: writer.signal,
  wants: (event) => isDelivered(event, filter),
  write: (event, values) => writer.write('message', eventParts(event, values), event.eventId),
  flush: () => writer.flush(),
  pauseWhenSlow: (source) => writer.pauseWhenSlow(source),
});

/** The filter in the query of a GET; a Last-Event-ID counts as `since`. */
export function filterOfQuery(
  { channels, namespaces, depth, since }: RouteInput<typeof protocolRoutes.joinEvents>['query'],
  lastEventId: string | undefined,
): EventFilter {
  return {
    channels: channels === undefined || channels.length === 0 ? [...PROTOCOL_CHANNELS] : channels,
    namespaces,
    depth,
    since: seqOfEventId(lastEventId) ?? since,
  };
}
