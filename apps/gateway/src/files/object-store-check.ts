import type { ObjectStore } from '@caribou/core';

/** A key that no object has. */
const NO_OBJECT = 'check/none';
/** How long an answer counts, in milliseconds. */
const VALID_MS = 5_000;

/** Whether the object store answers: asked at most once in five seconds, however many ask. */
export class ObjectStoreCheck {
  private last: { readonly atMs: number; readonly answer: Promise<unknown> } | undefined;

  constructor(
    private readonly store: Pick<ObjectStore, 'head'>,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** @throws {UnavailableError} when it does not, or refuses the credentials */
  async check(): Promise<void> {
    const nowMs = this.nowMs();
    if (this.last === undefined || nowMs - this.last.atMs >= VALID_MS) {
      this.last = { atMs: nowMs, answer: this.store.head(NO_OBJECT) };
    }
    await this.last.answer;
  }
}
