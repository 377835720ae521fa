import { spawn } from 'node:child_process';

const maxOutputBytes = 4 * 1024 * 1024;

/**
 * @typedef {object} CommandResult
 * @property {number} code exit code; 128 + n is not used, a signal gives 1
 * @property {string} output stdout and stderr in order of arrival, the last 4 MiB
 */

/**
 * Runs a program to its end and returns its exit code and output. Never rejects for a failing program: a program that
 * cannot be started ends with code 127, one that passes its deadline is killed and ends with code 124.
 *
 * `onError` is called with the data on stderr as it arrives.
 *
 * @param {string} file
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs: number, signal?: AbortSignal, onError?: (text: string) => void }} options
 * @returns {Promise<CommandResult>}
 */
export function runCommand(file, args, options) {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: options.env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let late = false;
    /** @param {Buffer} data */
    const take = (data) => {
      output = (output + data.toString('utf8')).slice(-maxOutputBytes);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.stderr.on('data', (/** @type {Buffer} */ data) => options.onError?.(data.toString('utf8')));
    const deadline = setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
    }, options.timeoutMs);
    const abort = () => child.kill('SIGTERM');
    options.signal?.addEventListener('abort', abort, { once: true });
    /** @param {CommandResult} result */
    const end = (result) => {
      clearTimeout(deadline);
      options.signal?.removeEventListener('abort', abort);
      resolve(result);
    };
    child.on('error', (error) => end({ code: 127, output: `${output}${error.message}\n` }));
    child.on('close', (code) => end({ code: late ? 124 : (code ?? 1), output }));
  });
}

/** The last lines of an output, for a message. @param {string} output @param {number} [lines] */
export const tail = (output, lines = 15) => output.trimEnd().split('\n').slice(-lines).join('\n');
