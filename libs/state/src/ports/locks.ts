/** Short locks shared by all processes; each expires by itself if its owner dies. */
export interface Locks {
  /**
   * Returns whether the owner now has the lock, for at most `forMs`. @throws {UnavailableError} when the store does not
   * answer
   */
  acquire(name: string, owner: string, forMs: number): Promise<boolean>;
  /** Releases the lock if the owner still has it. @throws {UnavailableError} when the store does not answer */
  release(name: string, owner: string): Promise<void>;
}
