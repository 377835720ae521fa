import { type Clock, type Logger, systemClock } from '@caribou/core';
import { FolderObjectStore } from './folder/folder-store.js';
import type { OpenedStore } from './common/opened-store.js';
import { S3ObjectStore } from './s3/s3-store.js';
import type { ObjectStoreConfig } from '@caribou/config';

/** The store of the settings. Nothing is opened until it is used, so a store that is away does not prevent a start. */
export function openObjectStore(settings: ObjectStoreConfig, logger: Logger, clock: Clock = systemClock): OpenedStore {
  return settings.kind === 'folder'
    ? new FolderObjectStore(settings.folder, clock)
    : new S3ObjectStore(settings.s3, { logger, clock, random: Math.random });
}
