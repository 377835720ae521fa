/** The launcher's output: one line per event, with the time since it started. Data goes to stdout, errors to stderr. */

const startedAt = Date.now();
const colour = process.stdout.isTTY && process.env['NO_COLOR'] === undefined;

/** @param {string} code @param {string} text */
const paint = (code, text) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);

/** @param {string} text */
export const dim = (text) => paint('2', text);
/** @param {string} text */
export const bold = (text) => paint('1', text);

/** @param {number} ms */
export const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/** Prints a line after the seconds since the start. @param {string} text */
export function say(text) {
  process.stdout.write(`${dim(seconds(Date.now() - startedAt).padStart(7))}  ${text}\n`);
}

/** @param {string} text */
export function warn(text) {
  process.stderr.write(`${dim(seconds(Date.now() - startedAt).padStart(7))}  ${paint('33', text)}\n`);
}

/**
 * Runs a step and prints its end and its duration. A step that takes longer than 10 s is announced again every 10 s, so
 * that a silent installation does not seem to hang.
 *
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
  const began = Date.now();
  const stillBusy = setInterval(() => say(`${title} … ${seconds(Date.now() - began)}`), 10_000);
  try {
    const result = await work();
    say(`${title}: ${seconds(Date.now() - began)}`);
    return result;
  } finally {
    clearInterval(stillBusy);
  }
}

/** A failure the reader can act on: the launcher prints its message alone, without a stack. */
export class LauncherError extends Error {
  /** @param {string} message @param {ErrorOptions} [options] */
  constructor(message, options) {
    super(message, options);
    this.name = 'LauncherError';
  }
}
