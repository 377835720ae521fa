/** A part of a word that is the output of commands, or a pipe to or from them. */
export interface Substitution {
  /** `$(…)` and backticks; `<(…)`; `>(…)`. */
  readonly kind: 'output' | 'input' | 'sink';
  readonly tokens: readonly Token[];
}

export interface Word {
  /** Without its quotes; expansions as they are written, but `$HOME` as `~`. */
  readonly text: string;
  /** Some of it stood in quotes, so it is no reserved word. */
  readonly quoted: boolean;
  /** The variable that it sets where an assignment may stand. */
  readonly assigns?: string;
  readonly substitutions: readonly Substitution[];
}

export interface Redirect {
  readonly kind: 'redirect';
  readonly operator: string;
  /** The file, the text of a here-string, or the delimiter of a here-document. */
  readonly target: Word;
  /** Of a here-document. */
  readonly body?: Word;
}

export type Token =
  | { readonly kind: 'word'; readonly word: Word }
  | { readonly kind: 'operator'; readonly text: string }
  | Redirect;

/** A text that is taken apart too deep, or into too much, to be judged. */
export class NestingError extends Error {
  constructor() {
    super('the command is nested too deeply');
    this.name = 'NestingError';
  }
}

/** Of one command with all that is nested in it. */
const MAX_READ_CHARS = 200_000;
const MAX_DEPTH = 40;

/** Reads tokens from the cursor on, up to the end or, in brackets, past the one that closes them. */
export type ScriptReader = (cursor: Cursor, options: { readonly inBrackets: boolean }) => readonly Token[];

/** What reading a command may cost, and what was found wrong with it; shared by everything nested in it. */
export class Reading {
  /** A quote, substitution or the like has no end. */
  incomplete = false;
  private charsLeft = MAX_READ_CHARS;

  constructor(readonly readScript: ScriptReader) {}

  /** @throws {NestingError} when it is too much */
  charge(chars: number, depth: number): void {
    this.charsLeft -= chars;
    if (this.charsLeft < 0 || depth > MAX_DEPTH) throw new NestingError();
  }
}

/** A place in a text that is read from left to right. */
export class Cursor {
  at = 0;

  constructor(
    readonly text: string,
    readonly reading: Reading,
    public depth: number,
  ) {
    reading.charge(text.length, depth);
  }

  get char(): string {
    return this.text[this.at] ?? '';
  }

  get next(): string {
    return this.text[this.at + 1] ?? '';
  }

  get ended(): boolean {
    return this.at >= this.text.length;
  }

  /** Goes past the first of `candidates` that stands here. */
  take(candidates: readonly string[]): string | undefined {
    const found = candidates.find((candidate) => this.text.startsWith(candidate, this.at));
    if (found !== undefined) this.at += found.length;
    return found;
  }

  /** Goes past what a sticky expression matches here. */
  match(sticky: RegExp): string | undefined {
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}
