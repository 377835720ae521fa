import { objectStoreConfig } from '@caribou/config';
import { silentLogger } from '@caribou/core';
import {
  missingForMoto,
  rootInMemory,
  type S3TestServer,
  startMoto,
  startS3rver,
  temporaryFolder,
} from '@caribou/testing';
import { openObjectStore, type OpenedStore } from './index.js';
import { describeObjectStore } from './testing/conformance.js';
import { openScripted } from './testing/open-scripted.js';

const LARGE_BYTES = 5 * 1024 * 1024 + 1_000;
/** A list of S3 has pages of 1,000 as well, which would take most of the time of the suite. */
const PAGE_OBJECTS = 20;

describe('in a folder', () => {
  const section = { folder: { path: temporaryFolder(rootInMemory()), durable: false } };
  const store = openObjectStore(objectStoreConfig(section, '/unused'), silentLogger);
  describeObjectStore('folder', { store: () => store, largeBytes: LARGE_BYTES, pageObjects: 1_000 });
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
      const { server, access } = started;
      const keys = { access_key_id: access.accessKeyId, secret_access_key: access.secretAccessKey };
      ({ store } = openScripted(server.url, keys, { changes: { pageObjects: PAGE_OBJECTS } }));
    }, 120_000);
    afterAll(() => started.server.stop());
    describeObjectStore(name, {
      store: () => store,
      largeBytes: LARGE_BYTES,
      pageObjects: PAGE_OBJECTS,
      faults,
    });
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
