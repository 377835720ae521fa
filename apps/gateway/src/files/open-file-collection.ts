import type { Logger, SkillStore } from '@caribou/core';
import { type RedisConnection, redisLocks, redisSharedDocuments } from '@caribou/state';
import { FileCollection } from './file-collection.js';
import type { GatewayFiles } from './open-files.js';

export interface FileCollectionPorts {
  readonly redis: RedisConnection;
  readonly logger: Logger;
  readonly skillStore: Pick<SkillStore, 'manifestsOf'>;
}

/** The garbage collection of the object store; null when files lie on a data volume. */
export const openFileCollection = (
  { stored }: Pick<GatewayFiles, 'stored'>,
  { redis, logger, skillStore }: FileCollectionPorts,
): FileCollection | null =>
  stored === null
    ? null
    : new FileCollection({
        ...stored,
        locks: redisLocks(redis),
        documents: redisSharedDocuments(redis),
        // Every owner of trees in the store names its manifests here, or they are removed.
        moreRoots: (userId) => skillStore.manifestsOf(userId),
        logger,
      });
