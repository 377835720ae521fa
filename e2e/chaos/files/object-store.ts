import { S3_BUCKET, startS3rver, type TestServer } from '@caribou/testing';
import { type FaultyStore, startFaultyStore } from './faulty-store.js';

/** The share of calls of the store that fail. */
const FAILING = 0.05;

/** An object store that fails now and then, and that can be killed and started again: its objects are on the disk. */
export interface ChaosStore {
  readonly server: TestServer;
  readonly proxy: FaultyStore;
  /** The section `files` of config.yaml. */
  readonly config: string;
  stop(): Promise<void>;
}

/** Small enough that many calls have more to store, or wait longer, than they may: that is noted, and stored in the background. */
const MAX_DIRECT_BYTES = 262_144;
const MAX_WAIT_MS = 2_000;

export async function startChaosStore(seed: number): Promise<ChaosStore> {
  const { server, access } = await startS3rver();
  const proxy = await startFaultyStore({ target: server.port, seed, share: FAILING });
  const config = `files:
  max_direct_bytes: ${MAX_DIRECT_BYTES}
  max_wait_ms: ${MAX_WAIT_MS}
  store:
    s3:
      endpoint: ${proxy.url}
      bucket: ${S3_BUCKET}
      prefix: chaos
      access_key_id: ${access.accessKeyId}
      secret_access_key: ${access.secretAccessKey}
`;
  return {
    server,
    proxy,
    config,
    stop: async () => {
      await proxy.stop();
      await server.stop();
    },
  };
}
