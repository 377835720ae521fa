/** Texts as vectors, so that those of similar meaning can be found. */
export interface Embedder {
  /** Identifies model and endpoint: vectors of different ids cannot be compared. */
  readonly id: string;
  /** The model's name. */
  readonly model: string;
  /**
   * The vector of a text, and the tokens that the endpoint counted for it.
   *
   * @throws {ModelError} when the endpoint fails or does not answer in time
   */
  embed(text: string): Promise<{ readonly vector: Float32Array; readonly tokens: number }>;
}
