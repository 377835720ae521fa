/**
 * Port to the installation's documents, which administrators write and all processes on all machines share. Each
 * document has a version, and a write names the version that it replaces.
 */
export interface SharedDocument {
  /** Increases with each write; 0: the document does not exist. */
  readonly version: number;
  /** JSON; undefined when the document does not exist. */
  readonly value: unknown;
}

/** Every method throws UnavailableError when the store does not answer in time. */
export interface SharedDocuments {
  read(name: string): Promise<SharedDocument>;
  version(name: string): Promise<number>;
  /**
   * Replaces the document if it still has the version `expected`; returns its new version.
   *
   * @throws ConflictError when it has another one
   * @throws TooLargeError when it exceeds 1 MiB of JSON
   */
  write(name: string, value: unknown, expected: number): Promise<number>;
}
