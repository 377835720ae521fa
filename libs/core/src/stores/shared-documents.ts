/**
 * Port to documents of the whole installation, shared by all processes on all machines: what administrators write.
 * Each document has a version; a write names the one it replaces.
 */
export interface SharedDocument {
  /** Rises with each write; 0: there is none. */
  readonly version: number;
  /** JSON; undefined when there is none. */
  readonly value: unknown;
}

/** Every method throws UnavailableError when the store does not answer in time. */
export interface SharedDocuments {
  read(name: string): Promise<SharedDocument>;
  version(name: string): Promise<number>;
  /**
   * Replaces the document if it still has the version `expected`; answers its new version.
   *
   * @throws ConflictError when it has another one
   * @throws TooLargeError when it is over 1 MiB of JSON
   */
  write(name: string, value: unknown, expected: number): Promise<number>;
}
