import { inspect } from 'node:util';

const SHOWN = '[secret]';

/** A value that leaves the process only where `reveal()` is called: JSON, logs and inspection show "[secret]". */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
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
