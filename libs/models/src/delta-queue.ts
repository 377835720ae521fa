import type { ModelDelta } from '@caribou/core';

type Result = IteratorResult<ModelDelta, undefined>;

/**
 * Passes deltas from the connection to one reader, in order. It ends once, by `finish`, `fail` or the reader's `return`;
 * later calls of the writer have no effect. The writer bounds its size.
 */
export class DeltaQueue implements AsyncIterableIterator<ModelDelta> {
  #queued: ModelDelta[] = [];
  #waiting: { readonly resolve: (result: Result) => void; readonly reject: (reason: unknown) => void } | undefined;
  #end: { readonly error: unknown } | 'finished' | undefined;
  readonly #onReturn: () => void;

  constructor(onReturn: () => void) {
    this.#onReturn = onReturn;
  }

  push(delta: ModelDelta): void {
    if (this.#end !== undefined) return;
    const waiting = this.#take();
    if (waiting === undefined) this.#queued.push(delta);
    else waiting.resolve({ value: delta, done: false });
  }

  finish(): void {
    if (this.#end !== undefined) return;
    this.#end = 'finished';
    this.#take()?.resolve({ value: undefined, done: true });
  }

  /** The reader gets the error after the queued deltas, or at once with `drop`. */
  fail(error: unknown, { drop }: { readonly drop: boolean }): void {
    if (this.#end !== undefined) return;
    if (drop) this.#queued = [];
    const waiting = this.#take();
    this.#end = waiting === undefined ? { error } : 'finished';
    waiting?.reject(error);
  }

  next(): Promise<Result> {
    const value = this.#queued.shift();
    if (value !== undefined) return Promise.resolve({ value, done: false });
    if (this.#end === 'finished') return Promise.resolve({ value: undefined, done: true });
    if (this.#end !== undefined) {
      const { error } = this.#end;
      this.#end = 'finished';
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  return(): Promise<Result> {
    this.#queued = [];
    this.finish();
    this.#onReturn();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take() {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }
}
