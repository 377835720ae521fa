import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Metrics } from '@caribou/observability';
import type { ThreadStore } from '@caribou/state';
import { Dependency } from '../../dependency.js';
import type { GatewaySettings } from '../../settings.js';
import { SlowReaders } from './slow-readers.js';
import { StreamRegistry } from './stream-registry.js';
import { ValuesCache } from './values-cache.js';

/** What all long answers and sockets of the process share: their limits, and the states that they show. */
@Injectable()
export class OpenStreams implements OnModuleDestroy {
  readonly values: ValuesCache;
  readonly registry: StreamRegistry;
  readonly slowReaders: SlowReaders;

  constructor(
    @Dependency('threadStore') store: ThreadStore,
    @Dependency('settings') settings: GatewaySettings,
    @Dependency('metrics') private readonly metrics: Pick<Metrics, 'measure' | 'measureCache' | 'streamGap'>,
  ) {
    this.values = new ValuesCache(store);
    this.registry = new StreamRegistry(settings.maxStreamsPerUser);
    this.slowReaders = new SlowReaders(settings.maxSlowReaderBytes);
    metrics.measureCache('values', this.values.bytes);
    metrics.measure('open_streams', () => this.registry.size);
    metrics.measure('slow_reader_bytes', () => this.slowReaders.heldBytes);
  }

  /** Counts a client that asked for events which no longer exist. */
  countGap(): void {
    this.metrics.streamGap();
  }

  /** Breaks off all streams without an `end`, so that clients reconnect to another gateway, and opens no more. */
  cutAll(): void {
    this.registry.cutAll();
  }

  /** Before the server closes connections, which would look as if the clients had left. */
  onModuleDestroy(): void {
    this.cutAll();
  }
}
