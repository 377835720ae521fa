import { wholeCharacters } from '../text/whole-characters.js';

/** Receives output of a command. */
export type OutputListener = (stream: 'out' | 'err', chunk: Buffer) => void;

/** Stores the beginning and the end of a stream of bytes within `maxBytes`; memory stays below twice that. */
export class OutputWindow {
  private readonly head: Buffer[] = [];
  private headBytes = 0;
  private tail: Buffer[] = [];
  private tailBytes = 0;
  private total = 0;

  constructor(private readonly maxBytes: number) {}

  get totalBytes(): number {
    return this.total;
  }

  push(chunk: Buffer): void {
    this.total += chunk.length;
    const room = this.maxBytes - this.headBytes;
    if (room > 0) {
      const part = Buffer.from(chunk.subarray(0, room));
      this.head.push(part);
      this.headBytes += part.length;
    }
    if (chunk.length > room) this.pushTail(Buffer.from(chunk.subarray(Math.max(room, 0)).subarray(-this.maxBytes)));
  }

  private pushTail(chunk: Buffer): void {
    this.tail.push(chunk);
    this.tailBytes += chunk.length;
    if (this.tailBytes <= 2 * this.maxBytes) return;
    this.tail = [Buffer.concat(this.tail).subarray(-this.maxBytes)];
    this.tailBytes = this.maxBytes;
  }

  /**
   * What was pushed, as text of at most `limitBytes`: whole, or the first and last half around a line that counts the
   * bytes left out. Ends and starts at whole characters.
   */
  text(limitBytes: number): { readonly text: string; readonly truncatedBytes: number } {
    const whole = Buffer.concat([...this.head, ...this.tail]);
    if (this.total <= limitBytes) return { text: whole.toString('utf8'), truncatedBytes: 0 };
    const half = Math.max(Math.floor((limitBytes - MARKER_BYTES) / 2), 0);
    const first = wholeCharacters(whole.subarray(0, half));
    const last = fromCharacterStart(whole.subarray(whole.length - half));
    const truncatedBytes = this.total - first.length - last.length;
    const marker = `\n[... ${truncatedBytes} bytes left out ...]\n`;
    return { text: first.toString('utf8') + marker + last.toString('utf8'), truncatedBytes };
  }
}

/** Room for the line in the middle. */
const MARKER_BYTES = 48;

function fromCharacterStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}

/** Both streams of a command under one budget. */
export class CommandOutput {
  private readonly out: OutputWindow;
  private readonly err: OutputWindow;

  constructor(
    private readonly limits: { readonly maxBytes: number; readonly ceilingBytes: number },
    /** Called once, when the two streams together pass the ceiling. */
    private readonly onCeiling: () => void,
    private readonly onOutput?: OutputListener,
  ) {
    this.out = new OutputWindow(limits.maxBytes);
    this.err = new OutputWindow(limits.maxBytes);
  }

  push(stream: 'out' | 'err', chunk: Buffer): void {
    const before = this.out.totalBytes + this.err.totalBytes;
    this[stream].push(chunk);
    this.onOutput?.(stream, chunk);
    const { ceilingBytes } = this.limits;
    if (before <= ceilingBytes && before + chunk.length > ceilingBytes) this.onCeiling();
  }

  /** Texts within `maxBytes` together: stderr is sure of a quarter, stdout has what stderr leaves. */
  take(): { readonly stdout: string; readonly stderr: string; readonly truncatedBytes: number } {
    const { maxBytes } = this.limits;
    const errShare = Math.max(Math.floor(maxBytes / 4), maxBytes - this.out.totalBytes);
    const stderr = this.err.text(Math.min(errShare, maxBytes));
    const stdout = this.out.text(maxBytes - Buffer.byteLength(stderr.text));
    return { stdout: stdout.text, stderr: stderr.text, truncatedBytes: stdout.truncatedBytes + stderr.truncatedBytes };
  }
}
