import { type Bus, PublishRequests } from '@caribou/bus';
import type { Config } from '@caribou/config';
import type { FileGenerations, Logger } from '@caribou/core';
import {
  createErasedFiles,
  type ErasedFiles,
  erasedStoredFiles,
  FileHistory,
  type ObjectTreeStore,
  objectTreeStore,
  SharedVolume,
  storedUserFiles,
  type UserFiles,
  userFiles,
} from '@caribou/files';
import { openObjectStore, type OpenedStore } from '@caribou/objects';
import type { HealthCheck } from '@caribou/service';
import { redisFileGenerations, type RedisConnection, redisVolumeRegistry } from '@caribou/state';
import { ObjectStoreCheck } from './object-store-check.js';
import { filesOnVolume } from './uploads/files-on-volume.js';

/** The files of threads in an object store. */
export interface StoredFiles {
  readonly store: OpenedStore;
  readonly trees: ObjectTreeStore;
  readonly generations: FileGenerations;
  readonly history: FileHistory;
}

/** Where the files of threads are, for a gateway. */
export interface GatewayFiles {
  readonly users: UserFiles;
  readonly erased: ErasedFiles;
  /** Whether this process may work on files. @throws {UnavailableError} when CARIBOU_HOME is another volume than the one in use */
  readonly ensure: () => Promise<void>;
  /** For the start of the service. @throws {UnavailableError} as `ensure`, but not when the store is away */
  readonly checkAtStart: () => Promise<void>;
  readonly readiness: HealthCheck;
  /** Null when they lie on a data volume that all machines share. */
  readonly stored: StoredFiles | null;
}

interface Parts {
  readonly redis: RedisConnection;
  readonly bus: Pick<Bus, 'call'>;
  readonly logger: Logger;
}

/** The files as the configuration says: in an object store with its section `files`, else on the data volume. */
export function openFiles({ files, homeDir, sandbox }: Config, { redis, bus, logger }: Parts): GatewayFiles {
  const { limits } = sandbox;
  if (files === undefined)
    return filesOf(new SharedVolume(redisVolumeRegistry(redis), homeDir), homeDir, limits, logger);
  const store = openObjectStore(files.store, logger);
  const trees = objectTreeStore(store);
  const generations = redisFileGenerations(redis);
  const requests = new PublishRequests(bus, logger);
  const askToPublish = requests.ask.bind(requests);
  const check = new ObjectStoreCheck(store);
  return {
    users: storedUserFiles({ trees, generations, askToPublish, limits, homeDir }),
    erased: erasedStoredFiles(generations),
    ensure: () => Promise.resolve(),
    checkAtStart: () => Promise.resolve(),
    readiness: { name: 'objects', check: () => check.check() },
    stored: { store, trees, generations, history: new FileHistory({ trees, generations, askToPublish, limits }) },
  };
}

const filesOf = (
  volume: SharedVolume,
  homeDir: string,
  limits: Config['sandbox']['limits'],
  logger: Logger,
): GatewayFiles => ({
  users: filesOnVolume(userFiles(homeDir, limits), () => volume.ensure()),
  erased: createErasedFiles(homeDir),
  ensure: () => volume.ensure(),
  checkAtStart: () => volume.checkAtStart(logger),
  readiness: { name: 'volume', check: () => volume.ensureIfPresent() },
  stored: null,
});
