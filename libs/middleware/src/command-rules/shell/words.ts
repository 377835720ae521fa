/** A part of a word that is the output of commands, or a pipe to or from them. */
export interface Substitution {
  /** `output` is `$(…)` and backticks, `input` is `<(…)`, `sink` is `>(…)`. */
  readonly kind: 'output' | 'input' | 'sink';
  readonly tokens: readonly Token[];
}

export interface Word {
  /** The word without its quotes; expansions are unchanged, except that `$HOME` is `~`. */
  readonly text: string;
  /** Whether a part of it was quoted, so that it is not a reserved word. */
  readonly quoted: boolean;
  /** The variable that it sets where assignments are allowed. */
  readonly assigns?: string;
  readonly substitutions: readonly Substitution[];
}

export interface Redirect {
  readonly kind: 'redirect';
  readonly operator: string;
  /** The file, the text of a here-string, or the delimiter of a here-document. */
  readonly target: Word;
  /** Body of a here-document. */
  readonly body?: Word;
}

export type Token =
  | { readonly kind: 'word'; readonly word: Word }
  | { readonly kind: 'operator'; readonly text: string }
  | Redirect;

/** A command is nested too deeply, or is too large, to be checked. */
export class NestingError extends Error {
  constructor() {
    super('the command is nested too deeply');
    this.name = 'NestingError';
  }
}

/** Maximum characters parsed for one command, including nested text. */
const MAX_READ_CHARS = 200_000;
const MAX_DEPTH = 40;

/** Reads tokens from the cursor to the end or, in brackets, past the closing bracket. */
export type ScriptReader = (cursor: Cursor, options: { readonly inBrackets: boolean }) => readonly Token[];

/** The budget and state of parsing one command, shared by everything nested in it. */
export class Reading {
  /** Whether a quote, substitution or similar construct is not closed. */
  incomplete = false;
  private charsLeft = MAX_READ_CHARS;

  constructor(readonly readScript: ScriptReader) {}

  /** @throws {NestingError} when the budget is exceeded */
  charge(chars: number, depth: number): void {
    this.charsLeft -= chars;
    if (this.charsLeft < 0 || depth > MAX_DEPTH) throw new NestingError();
  }
}

/** A position in a text that is read from left to right. */
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

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** Consumes the first of `candidates` that matches at the cursor. */
  take(candidates: readonly string[]): string | undefined {
    const found = candidates.find((candidate) => this.text.startsWith(candidate, this.at));
    if (found !== undefined) this.at += found.length;
    return found;
  }

  /** Consumes what a sticky expression matches at the cursor. */
  match(sticky: RegExp): string | undefined {
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}
