import { inspect } from 'node:util';

const SHOWN = '[secret]';

/** A value that leaves the process only where `reveal()` is called: JSON, logs and inspection show "[secret]". */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [inspect.custom](): string {
    return SHOWN;
  }
}
