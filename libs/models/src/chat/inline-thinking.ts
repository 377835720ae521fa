/** White space before the tag, in characters; content with more has no tag. */
const MAX_LEADING_CHARS = 1_000;

/** Content and reasoning of a piece of the stream; empty when nothing has arrived yet. */
export interface SplitPiece {
  readonly content: string;
  readonly reasoning: string;
}

/**
 * Splits reasoning off that a server sends at the beginning of the content, in a tag such as `<think>`. Tags may be cut anywhere;
 * what may be the beginning of one is held until the next piece. White space around the tags is left out. Reasoning may be in
 * several tags, one directly behind the other: Amazon Bedrock has one for each piece of the stream.
 */
export class InlineThinking {
  readonly #open: string;
  readonly #close: string;
  #state: 'before' | 'thinking' | 'after' = 'before';
  #held = '';
  #hasThought = false;
  /** Whether the part that is read has had nothing but white space. */
  #isAtStart = true;

  constructor(tag: string) {
    this.#open = `<${tag}>`;
    this.#close = `</${tag}>`;
  }

  /** Whether all further content is the answer's text, which needs no splitting. */
  get isOver(): boolean {
    return this.#state === 'after' && !this.#isAtStart;
  }

  split(text: string): SplitPiece {
    this.#held += text;
    let reasoning = '';
    do {
      if (this.#state === 'before' && !this.#readOpening()) return { content: '', reasoning };
      if (this.#state === 'thinking') reasoning += this.#readThinking();
    } while (this.#state === 'before');
    return { content: this.#state === 'after' ? this.#trimmed(this.#take(0)) : '', reasoning };
  }

  /** Returns what is held at the end of the answer. */
  end(): SplitPiece {
    const rest = this.#take(0);
    if (this.#state === 'thinking') return { content: '', reasoning: rest };
    return { content: this.#hasThought ? rest.trimStart() : rest, reasoning: '' };
  }

  /** Reads up to the end of the opening tag, or decides that there is none; returns false while it may still come. */
  #readOpening(): boolean {
    const text = this.#held.trimStart();
    if (text.startsWith(this.#open)) {
      this.#state = 'thinking';
      this.#isAtStart = !this.#hasThought;
      this.#held = text.slice(this.#open.length);
      return true;
    }
    const mayBegin = this.#open.startsWith(text) || this.#close.startsWith(text);
    if (mayBegin && text !== this.#close && this.#held.length <= MAX_LEADING_CHARS) return false;
    this.#state = 'after';
    // A closing tag alone ends reasoning that the server marked in another way.
    const isClosed = text.startsWith(this.#close);
    this.#isAtStart = this.#hasThought || isClosed;
    if (isClosed) this.#held = text.slice(this.#close.length);
    return true;
  }

  #readThinking(): string {
    const end = this.#held.indexOf(this.#close);
    if (end < 0) return this.#trimmed(this.#take(tailInCommon(this.#held, this.#close)));
    const reasoning = this.#trimmed(this.#held.slice(0, end));
    this.#held = this.#held.slice(end + this.#close.length);
    this.#state = 'before';
    this.#hasThought = true;
    return reasoning;
  }

  /** Takes what is held but its last `left` characters. */
  #take(left: number): string {
    const at = this.#held.length - left;
    const taken = this.#held.slice(0, at);
    this.#held = this.#held.slice(at);
    return taken;
  }

  #trimmed(text: string): string {
    if (!this.#isAtStart) return text;
    const trimmed = text.trimStart();
    this.#isAtStart = trimmed === '';
    return trimmed;
  }
}

/** Length of the longest end of `text` with which `word` begins. */
function tailInCommon(text: string, word: string): number {
  const longest = Math.min(text.length, word.length - 1);
  for (let length = longest; length > 0; length--) {
    if (text.endsWith(word.slice(0, length))) return length;
  }
  return 0;
}
