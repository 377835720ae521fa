import { dim } from './terminal.mjs';

const longestLine = 16_384;
const levels = new Map([
  [10, 'trace'],
  [20, 'debug'],
  [30, 'info'],
  [40, 'warn'],
  [50, 'error'],
  [60, 'fatal'],
]);
/** Fields of a log line that are not shown at a terminal. */
const dull = new Set(['level', 'time', 'pid', 'hostname', 'service', 'name', 'msg']);

/**
 * Creates a function that takes a child's output in pieces and prints it line by line, each after the child's name.
 * At a terminal, JSON log lines become short text; into a file or pipe they are not changed.
 *
 * @param {string} name
 * @param {(line: string) => void} [onLine] called with every line as received
 * @returns {(data: Buffer) => void}
 */
export function linePrinter(name, onLine) {
  const decoder = new TextDecoder();
  const prefix = dim(`${name.padEnd(16)}|`);
  let rest = '';
  return (data) => {
    const lines = (rest + decoder.decode(data, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > longestLine) {
      lines.push(rest);
      rest = '';
    }
    for (const line of lines) {
      onLine?.(line);
      if (line !== '') process.stdout.write(`${prefix} ${process.stdout.isTTY ? readable(line) : line}\n`);
    }
  };
}

/** @param {string} line */
function readable(line) {
  const fields = asRecord(line);
  if (fields === undefined || typeof fields['msg'] !== 'string') return line;
  const level = typeof fields['level'] === 'string' ? fields['level'] : levels.get(Number(fields['level']));
  const shown = Object.entries(fields).filter(([key]) => !dull.has(key));
  const more = shown.map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return `${(level ?? 'info').padEnd(5)} ${fields['msg']} ${dim(more.join(' '))}`;
}

/** @param {string} line @returns {Record<string, unknown> | undefined} */
function asRecord(line) {
  if (!line.startsWith('{')) return undefined;
  try {
    /** @type {Record<string, unknown>} */
    const fields = JSON.parse(line);
    return fields;
  } catch {
    return undefined;
  }
}
