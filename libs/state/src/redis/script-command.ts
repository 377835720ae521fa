import { Command } from 'ioredis';
import type { Script } from './scripts.js';

/** What a script is given: texts, numbers, and values in a binary form. */
export type ScriptArgument = string | number | Buffer;

interface ScriptCall {
  readonly script: Script;
  /** The number of keys, the keys, then the arguments. */
  readonly values: readonly ScriptArgument[];
  /** Whether Redis has the script, so that its hash is enough. */
  readonly isLoaded: boolean;
}

/** The call of a script. The client encodes commands with buffers in many small pieces; this one takes half of the time for the same bytes. */
export class ScriptCommand extends Command {
  constructor({ script, values, isLoaded }: ScriptCall) {
    const name = isLoaded ? 'EVALSHA' : 'EVAL';
    // Texts cost a tenth of what buffers cost that are converted to texts.
    super(script.writes ? name : `${name}_RO`, [], { replyEncoding: script.repliesPlainly ? 'utf8' : null });
    this.args = [isLoaded ? script.sha1 : script.source, ...values];
  }

  /** The command as Redis reads it. */
  override toWritable(): string | Buffer {
    const pieces: (string | Buffer)[] = [];
    let bytes = 0;
    let text = `*${this.args.length + 1}\r\n$${this.name.length}\r\n${this.name}\r\n`;
    for (const arg of this.args) {
      if (arg instanceof Buffer) {
        text += `$${arg.length}\r\n`;
        pieces.push(text, arg);
        bytes += text.length + arg.length;
        text = '\r\n';
      } else {
        const value = String(arg);
        const length = Buffer.byteLength(value);
        text += `$${length}\r\n${value}\r\n`;
        bytes += length - value.length;
      }
    }
    return pieces.length === 0 ? text : joined([...pieces, text], bytes + text.length);
  }
}

function joined(pieces: readonly (string | Buffer)[], bytes: number): Buffer {
  const whole = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const piece of pieces) at += typeof piece === 'string' ? whole.write(piece, at) : piece.copy(whole, at);
  return whole;
}
