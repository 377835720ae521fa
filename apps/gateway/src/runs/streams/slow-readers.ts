/** A connection whose reader has not accepted what was written. */
export interface SlowReader {
  /** Closes the connection; the reader can reconnect and resume. */
  cut(reason: 'slow'): void;
}

interface Waiting {
  /** Bytes that only this connection holds. */
  readonly bytes: number;
  /** The text that it writes piece by piece, which other connections may write too. */
  readonly text: string | undefined;
}

/** Strings with characters beyond Latin-1 take two bytes for each. */
const BYTES_PER_CHAR = 2;

/**
 * Bounds the memory that waits for slow readers, for all connections of the process together. Over the bound it closes
 * connections: of those that hold at least their share, the one whose reader has accepted nothing for the longest time.
 * A text that several connections write counts once. The last waiting connection is never closed, so that a frame that
 * exceeds the bound by itself can be delivered.
 */
export class SlowReaders {
  /** In the order in which they began to wait. */
  private readonly waiting = new Map<SlowReader, Waiting>();
  private readonly textReaders = new Map<string, number>();
  private held = 0;

  constructor(private readonly maxBytes: number) {}

  get heldBytes(): number {
    return this.held;
  }

  /** Counts a connection from the moment at which its reader is slow, and closes others while too much waits. */
  add(reader: SlowReader, bytes: number, text?: string): void {
    this.remove(reader);
    this.waiting.set(reader, { bytes, text });
    this.held += bytes;
    if (text !== undefined) this.addText(text);
    while (this.held > this.maxBytes && this.waiting.size > 1) this.cutSlowest();
  }

  /** Ends the count of a connection whose reader has accepted something or is gone. */
  remove(reader: SlowReader): void {
    const entry = this.waiting.get(reader);
    if (entry === undefined) return;
    this.waiting.delete(reader);
    this.held -= entry.bytes;
    if (entry.text !== undefined) this.removeText(entry.text);
  }

  private cutSlowest(): void {
    const share = this.held / this.waiting.size;
    for (const [reader, entry] of this.waiting) {
      if (this.partOf(entry) < share) continue;
      this.remove(reader);
      reader.cut('slow');
      return;
    }
  }

  /** The bytes of a connection with its part of the text that it shares; at least one connection holds its share. */
  private partOf({ bytes, text }: Waiting): number {
    return text === undefined ? bytes : bytes + sizeOf(text) / (this.textReaders.get(text) ?? 1);
  }

  private addText(text: string): void {
    const readers = this.textReaders.get(text) ?? 0;
    if (readers === 0) this.held += sizeOf(text);
    this.textReaders.set(text, readers + 1);
  }

  private removeText(text: string): void {
    const left = (this.textReaders.get(text) ?? 1) - 1;
    if (left > 0) this.textReaders.set(text, left);
    else {
      this.textReaders.delete(text);
      this.held -= sizeOf(text);
    }
  }
}

const sizeOf = (text: string): number => text.length * BYTES_PER_CHAR;
