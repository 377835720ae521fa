/** Short locks that all processes share; each ends by itself, whatever becomes of its owner. */
export interface Locks {
  /** Whether the owner has the lock now, for at most `forMs`. @throws {UnavailableError} when the store does not answer */
  acquire(name: string, owner: string, forMs: number): Promise<boolean>;
  /** Gives it up, if it is still the owner's. @throws {UnavailableError} when the store does not answer */
  release(name: string, owner: string): Promise<void>;
}
