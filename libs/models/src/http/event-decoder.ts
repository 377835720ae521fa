import { isAscii } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';
import { createParser, type EventSourceMessage } from 'eventsource-parser';

/**
 * Decodes server-sent events from the chunks of a body. The parser gets complete lines only: it would scan an incomplete
 * line again with each chunk, which is quadratic when a server sends megabytes in one line.
 */
export class EventDecoder {
  readonly #text = new StringDecoder('utf8');
  /** Whether the last part may have ended within a character. */
  #isCut = false;
  readonly #parser: { feed(text: string): void };
  #unfinished: string[] = [];
  #unfinishedChars = 0;

  constructor(onEvent: (event: EventSourceMessage) => void) {
    this.#parser = createParser({ onEvent });
  }

  /** Length of the incomplete line. */
  get unfinishedChars(): number {
    return this.#unfinishedChars;
  }

  write(bytes: Buffer): void {
    const text = this.#textOf(bytes);
    const lines = endOfLines(text);
    if (lines > 0) this.#parser.feed(this.#take() + text.slice(0, lines));
    if (lines >= text.length) return;
    this.#unfinished.push(text.slice(lines));
    this.#unfinishedChars += text.length - lines;
  }

  /** Most parts are ASCII, which takes a tenth of the time of UTF-8. */
  #textOf(bytes: Buffer): string {
    if (!this.#isCut && isAscii(bytes)) return bytes.toString('latin1');
    this.#isCut = (bytes.at(-1) ?? 0) > 0x7f;
    return this.#text.write(bytes);
  }

  /** Emits the last event even if the blank line after it is missing. */
  end(): void {
    this.#parser.feed(`${this.#take()}${this.#text.end()}\n\n`);
  }

  #take(): string {
    const text = this.#unfinished.join('');
    this.#unfinished = [];
    this.#unfinishedChars = 0;
    return text;
  }
}

/** Where the last complete line of the text ends; 0 when it has none. Few servers end lines with \r, so only the rest is searched for it. */
function endOfLines(text: string): number {
  const end = text.lastIndexOf('\n') + 1;
  return end + text.slice(end).lastIndexOf('\r') + 1;
}
