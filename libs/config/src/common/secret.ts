import { inspect } from 'node:util';

const MASK = '[secret]';

/** A value that only `reveal()` returns; JSON, logs and inspection show "[secret]". */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}
