import type { ObjectBody, ObjectContent, ObjectInfo, ObjectPage, ObjectRange } from '@caribou/core';
import { checkBody, openChecked, sizeOf } from '../common/checked-body.js';
import { withDeadline } from '../common/deadline.js';
import { checkKey, checkKeys, checkPrefix, checkRange, MAX_PAGE } from '../common/object-key.js';
import type { OpenedStore } from '../common/opened-store.js';
import { StoreFailure } from '../common/store-failure.js';
import { headObject } from './head-object.js';
import { MAX_PAGE_BYTES, parsePage, parseUploads } from './list-page.js';
import { contentOf } from './object-body.js';
import { openPart, type OpenPart } from './open-part.js';
import { S3Client, type S3ClientPorts } from './s3-client.js';
import type { S3StoreConfig } from '@caribou/config';
import { sentBytes } from './sent-bytes.js';
import { abortUpload, uploadInParts } from './upload-parts.js';

/** Requests of one `remove` at the same time. */
const REMOVALS_AT_ONCE = 16;
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Objects in a bucket of a store that speaks S3.
 *
 * S1 Each request says the checksum of its body, so that the store refuses what was altered on the way.
 * S2 A source is read again, and its size and checksum are compared, for each attempt to store it.
 * S3 "There is no such object" is only said after the bucket was seen: a wrong bucket is an error.
 */
export class S3ObjectStore implements OpenedStore {
  readonly #settings: S3StoreConfig;
  readonly #ports: S3ClientPorts;
  readonly #client: S3Client;
  #isBucketSeen = false;

  constructor(settings: S3StoreConfig, ports: S3ClientPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#client = new S3Client(settings, ports);
  }

  async put(key: string, body: ObjectBody, signal?: AbortSignal): Promise<void> {
    checkKey(key);
    checkBody(body);
    const size = sizeOf(body);
    const fullKey = this.#fullKey(key);
    if (size <= this.#settings.multipartBytes) {
      const sent =
        'bytes' in body ? await sentBytes(body.bytes, body.sha256) : { ...body, open: () => openChecked(key, body) };
      const options = { signal, bytes: size, maxBytes: MAX_ANSWER_BYTES, parse: () => undefined };
      return this.#client.text({ method: 'PUT', fullKey, body: sent }, options);
    }
    const ports = { client: this.#client, logger: this.#ports.logger, partBytes: this.#settings.partBytes };
    // The store moves each byte twice: when it takes a part, and when it makes one object of them.
    await withDeadline({ timeoutMs: this.#settings.timeoutMs, bytes: 2 * size, signal }, (stop) =>
      uploadInParts({ key, fullKey, body, signal: stop }, ports),
    );
  }

  async get(key: string, range?: ObjectRange, signal?: AbortSignal): Promise<ObjectContent> {
    checkKey(key);
    if (range !== undefined) checkRange(range);
    const open = async (part: ObjectRange | undefined): Promise<OpenPart> => {
      const sizeOf = async (): Promise<number | undefined> => (await this.head(key, signal))?.size;
      return openPart(this.#client, { key, fullKey: this.#fullKey(key), range: part, signal, sizeOf });
    };
    const first = await open(range);
    this.#isBucketSeen = true;
    return contentOf(first, { ...this.#settings, signal, reopen: open });
  }

  async head(key: string, signal?: AbortSignal): Promise<ObjectInfo | undefined> {
    checkKey(key);
    try {
      const info = await headObject(this.#client, { key, fullKey: this.#fullKey(key) }, signal);
      if (info === undefined && !this.#isBucketSeen) await this.#list({ max: 1 }, signal);
      return info;
    } catch (error) {
      // An answer to HEAD has no body that says what is wrong; that to a list has.
      if (error instanceof StoreFailure && !error.retryable) await this.#list({ max: 1 }, signal);
      throw error;
    }
  }

  async remove(keys: readonly string[], signal?: AbortSignal): Promise<void> {
    checkKeys(keys);
    const waiting = [...keys];
    const removeOn = async (stop: AbortSignal): Promise<void> => {
      for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) await this.#removeOne(key, stop);
    };
    await withDeadline({ timeoutMs: this.#settings.timeoutMs, signal }, async (stop) => {
      try {
        await Promise.all(Array.from({ length: REMOVALS_AT_ONCE }, () => removeOn(stop)));
      } finally {
        // After a failure the others do not begin another one.
        waiting.length = 0;
      }
    });
  }

  /** Deletes one by one, as not every store has a request for many. */
  async #removeOne(key: string, signal: AbortSignal): Promise<void> {
    await this.#client.text<unknown>(
      { method: 'DELETE', fullKey: this.#fullKey(key) },
      {
        signal,
        maxBytes: MAX_ANSWER_BYTES,
        parse: () => undefined,
        accept: ({ code }) => (code === 'NoSuchKey' ? true : undefined),
      },
    );
  }

  async list(prefix: string, after = '', signal?: AbortSignal): Promise<ObjectPage> {
    checkPrefix(prefix);
    return this.#list({ prefix, after, max: this.#settings.pageObjects }, signal);
  }

  async #list({ prefix = '', after = '', max }: PageRequest, signal: AbortSignal | undefined): Promise<ObjectPage> {
    const { prefix: own } = this.#settings;
    const start: Record<string, string> = after === '' ? {} : { 'start-after': own + after };
    const query = { 'list-type': '2', 'encoding-type': 'url', 'max-keys': String(max), prefix: own + prefix, ...start };
    const page = await this.#client.text(
      { method: 'GET', query },
      { signal, maxBytes: MAX_PAGE_BYTES, parse: (text) => parsePage(text, own) },
    );
    this.#isBucketSeen = true;
    return page;
  }

  async removeLeftovers(olderThanMs: number, signal?: AbortSignal): Promise<number> {
    const { prefix } = this.#settings;
    const uploads = await this.#client.text(
      { method: 'GET', query: { uploads: '', 'max-uploads': String(MAX_PAGE), prefix } },
      {
        signal,
        maxBytes: MAX_PAGE_BYTES,
        parse: parseUploads,
        // Such stores remove unfinished uploads by a rule of their own, or have none.
        accept: ({ code, status }) => (code === 'NotImplemented' || status === 501 ? [] : undefined),
      },
    );
    const beforeMs = this.#ports.clock.now() - olderThanMs;
    const old = uploads.filter(({ startedMs, fullKey }) => startedMs < beforeMs && fullKey.startsWith(prefix));
    for (const upload of old) await abortUpload(upload, signal, this.#client);
    return old.length;
  }

  #fullKey(key: string): string {
    return this.#settings.prefix + key;
  }
}

interface PageRequest {
  readonly prefix?: string;
  readonly after?: string;
  readonly max: number;
}
