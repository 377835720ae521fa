/** The data volume with the files of all threads, on which all processes of an installation agree. */
export interface VolumeRegistry {
  /**
   * Returns the id of the volume in use, which is the first one ever proposed.
   *
   * @throws {UnavailableError} when the store does not answer in time
   */
  agree(volumeId: string): Promise<string>;
}
