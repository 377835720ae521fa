import { pino } from 'pino';

/** Longest time a line waits for others to go out with it. */
const GATHER_MS = 50;
/** Lines that nobody reads are dropped above this many bytes. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

/** Where lines of JSON go. */
export interface LineSink {
  readonly write: (line: string) => void;
  /** Sends on what was gathered. */
  readonly flush: () => void;
}

/**
 * Lines to stdout, gathered for up to 50 ms: a write of its own costs more CPU than all else of a line. A reader that
 * does not keep up never holds the process up; what is left at its exit is written first.
 */
export function gatheredStdout(): LineSink {
  const out = pino.destination({ dest: 1, sync: false, maxLength: MAX_UNREAD_BYTES });
  const lines = gatheredLines((text) => void out.write(text));
  process.once('exit', () => {
    lines.flush();
    out.flushSync();
  });
  return lines;
}

/** Gathers lines and hands them on together: `GATHER_MS` after the first, or at a flush. */
export function gatheredLines(send: (text: string) => void): LineSink {
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting === '') return;
    const text = waiting;
    waiting = '';
    send(text);
  };
  return {
    write: (line) => {
      waiting += line;
      timer ??= setTimeout(flush, GATHER_MS).unref();
    },
    flush,
  };
}
