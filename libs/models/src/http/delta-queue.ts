import type { ModelDelta } from '@caribou/core';

type Result = IteratorResult<ModelDelta, undefined>;

/** Maximum number of deltas joined into one: an answer that arrives in one burst is still shown in steps. */
const MAX_JOINED_DELTAS = 16;

/**
 * Passes deltas from the connection to one reader, in order. It ends once, by `finish`, `fail` or the reader's `return`;
 * later calls of the writer have no effect. The writer bounds its size.
 *
 * Pieces of text that arrive before the reader asks for them are joined, because each delta costs the reader several
 * promises. The first piece, and each piece of a model that is slower than the reader, is passed on alone.
 */
export class DeltaQueue implements AsyncIterableIterator<ModelDelta> {
  #queued: ModelDelta[] = [];
  /** Number of deltas that were joined into the newest one of the queue. */
  #joined = 0;
  #waiting: { readonly resolve: (result: Result) => void; readonly reject: (reason: unknown) => void } | undefined;
  #end: { readonly error: unknown } | 'finished' | undefined;
  readonly #onReturn: () => void;

  constructor(onReturn: () => void) {
    this.#onReturn = onReturn;
  }

  push(delta: ModelDelta): void {
    if (this.#end !== undefined) return;
    const waiting = this.#take();
    if (waiting === undefined) this.#add(delta);
    else waiting.resolve({ value: delta, done: false });
  }

  #add(delta: ModelDelta): void {
    const last = this.#queued.at(-1);
    const whole = last === undefined || this.#joined >= MAX_JOINED_DELTAS ? undefined : joinText(last, delta);
    if (whole === undefined) {
      this.#queued.push(delta);
      this.#joined = 1;
    } else {
      this.#queued[this.#queued.length - 1] = whole;
      this.#joined += 1;
    }
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

/** Joins two deltas that consist of text or of reasoning only; undefined for others. */
function joinText(first: ModelDelta, second: ModelDelta): ModelDelta | undefined {
  if (!isOneText(first) || !isOneText(second)) return undefined;
  if (first.content !== undefined && second.content !== undefined) return { content: first.content + second.content };
  if (first.reasoning !== undefined && second.reasoning !== undefined)
    return { reasoning: first.reasoning + second.reasoning };
  return undefined;
}

const isOneText = ({
  content,
  reasoning,
  toolCallChunks,
  usage,
  finishReason,
  responseMetadata,
  extras,
}: ModelDelta): boolean =>
  (content === undefined) !== (reasoning === undefined) &&
  toolCallChunks === undefined &&
  usage === undefined &&
  finishReason === undefined &&
  responseMetadata === undefined &&
  extras === undefined;
