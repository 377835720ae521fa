/** Which data volume the files of all threads lie on, as all processes of an installation agree on it. */
export interface VolumeRegistry {
  /**
   * The id of the volume in use; the first one that is proposed.
   *
   * @throws {UnavailableError} when the store does not answer in time
   */
  agree(volumeId: string): Promise<string>;
}
