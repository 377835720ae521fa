/** What is known of an object without reading it. */
export interface ObjectInfo {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since the epoch, by the clock of the store. */
  readonly modifiedMs: number;
}

/** Bytes of an object from `start` to `end`, both included, counted from 0. */
export interface ObjectRange {
  readonly start: number;
  readonly end: number;
}

export interface ObjectContent {
  /** Bytes of the whole object, also when a range was asked for. */
  readonly size: number;
  /** The bytes in order. Fails when the store ends the body early or is silent for too long. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** A body in memory, which nobody changes until it is stored. */
export interface ObjectBytes {
  readonly bytes: Uint8Array;
  /**
   * SHA-256 of the bytes in lower-case hexadecimal digits, if the caller knows it. It is believed: a store compares the bytes with it
   * only on a way on which they can be altered, and computes it only if it needs it.
   */
  readonly sha256?: string;
  /**
   * The object is needed once this resolves, and not at all when it rejects: a store that waits for it fails with its reason then, and has no
   * such object, or the one from before. Until then it may have it or not.
   */
  readonly needed?: Promise<unknown>;
}

/** A body of known length and checksum that is read while it is stored: it is compared with both each time it is read. */
export interface ObjectSource {
  /** Bytes. */
  readonly size: number;
  /** SHA-256 in lower-case hexadecimal digits. */
  readonly sha256: string;
  /** Opens the bytes from the start; called again for each attempt. */
  readonly open: () => AsyncIterable<Uint8Array>;
}

export type ObjectBody = ObjectBytes | ObjectSource;

export interface ObjectPage {
  /** In ascending order of the keys' bytes. */
  readonly objects: readonly ObjectInfo[];
  /** The key to pass as `after` for the next page; undefined at the end. */
  readonly next?: string;
}

/**
 * A store of immutable objects: a folder, or a service with the protocol of S3. Keys consist of lower-case letters, digits, `-`, `_`,
 * `.` and `/`, at most 512 characters; what is between two `/` has 1 to 200 characters and is neither `.` nor `..`. Other keys, prefixes
 * and ranges are refused with an InvalidRequestError. A key should not be another one with `/` and more: some services that keep
 * objects in files refuse that. An object that was put is visible to every later `get`, `head` and `list` of every
 * process, whole or not at all.
 * Every method has a deadline and is repeated a bounded number of times when the store is away, overloaded or cuts an answer.
 */
export interface ObjectStore {
  /**
   * Stores an object; one that is there already is replaced by the same content, as keys are named by content.
   *
   * @throws {ConflictError} when the bytes of a source have another size or checksum than it says; nothing is stored then
   * @throws {TooLargeError} when the store cannot hold an object of this size
   * @throws {UnavailableError} when the store cannot be reached in time, is full or refuses the credentials (`details.reason`)
   */
  put(key: string, body: ObjectBody, signal?: AbortSignal): Promise<void>;
  /**
   * Reads an object, or a part of it; a range that ends behind the object ends with it. The body may be left unread.
   *
   * @throws {NotFoundError} when there is none
   * @throws {InvalidRequestError} when the range begins behind the object
   * @throws {UnavailableError}
   */
  get(key: string, range?: ObjectRange, signal?: AbortSignal): Promise<ObjectContent>;
  /** Undefined when there is none. @throws {UnavailableError} */
  head(key: string, signal?: AbortSignal): Promise<ObjectInfo | undefined>;
  /** Removes objects, at most 1,000; those that are missing are no error. @throws {UnavailableError} */
  remove(keys: readonly string[], signal?: AbortSignal): Promise<void>;
  /** The objects whose keys begin with `prefix`, at most 1,000, after the key `after`. @throws {UnavailableError} */
  list(prefix: string, after?: string, signal?: AbortSignal): Promise<ObjectPage>;
}
