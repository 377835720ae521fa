import { pino } from 'pino';

/** Longest delay of a line in the buffer. */
const BUFFER_MS = 50;
/** Limit of unread bytes at stdout; further lines are dropped. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

/** A destination for lines of JSON. */
export interface LineSink {
  readonly write: (line: string) => void;
  /** Sends the buffered lines. */
  readonly flush: () => void;
}

/**
 * Buffers lines to stdout for up to 50 ms, because a write per line costs more CPU than all other work on it. A slow
 * reader does not block the process; buffered lines are written before its exit.
 */
export function bufferStdout(): LineSink {
  const out = pino.destination({ dest: 1, sync: false, maxLength: MAX_UNREAD_BYTES });
  const lines = bufferLines((text) => void out.write(text));
  process.once('exit', () => {
    lines.flush();
    out.flushSync();
  });
  return lines;
}

/** Buffers lines and sends them together `BUFFER_MS` after the first, or at a flush. */
export function bufferLines(send: (text: string) => void): LineSink {
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
      timer ??= setTimeout(flush, BUFFER_MS).unref();
    },
    flush,
  };
}
