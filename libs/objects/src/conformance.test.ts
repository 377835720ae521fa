import { objectStoreConfig } from '@caribou/config';
import { silentLogger } from '@caribou/core';
import type { S3TestServer } from '@caribou/testing';
import { missingForMoto, startMoto, startS3rver, temporaryFolder } from '@caribou/testing';

import { openObjectStore, type OpenedStore } from './index.js';
import { describeObjectStore } from './testing/conformance.js';
import { s3Section } from './testing/s3-section.js';

const LARGE_BYTES = 5 * 1024 * 1024 + 1_000;

describe('in a folder', () => {
  const home = temporaryFolder();
  const store = openObjectStore(objectStoreConfig(undefined, home), silentLogger);
  describeObjectStore('folder', { store: () => store, largeBytes: LARGE_BYTES, manyObjects: 1_300 });
});

/** The suite on a server that is started once for it. */
function describeServer(
  name: string,
  start: () => Promise<S3TestServer>,
  faults: Readonly<Record<string, string>> = {},
): void {
  describe(`on ${name}`, () => {
    let started: S3TestServer;
    let store: OpenedStore;
    beforeAll(async () => {
      started = await start();
      store = openObjectStore(
        objectStoreConfig(s3Section(started.server.url, started.access), '/unused'),
        silentLogger,
      );
    }, 120_000);
    afterAll(() => started.server.stop());
    describeObjectStore(name, { store: () => store, largeBytes: LARGE_BYTES, manyObjects: 1_003, faults });
  });
}

describeServer('s3rver', startS3rver, {
  'bytes 0 to 0 of ten': 's3rver takes an end of 0 for none',
  'there is no range of an object without bytes': 's3rver answers with one',
  'keys are in the order of their bytes': 's3rver orders by directories',
});

const reason = missingForMoto();
if (reason === null) describeServer('moto', startMoto);
else {
  process.stderr.write(`skipped: objects on moto (${reason})\n`);
  test.skip('objects on moto', () => undefined);
}
