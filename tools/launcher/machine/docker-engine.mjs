import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname } from 'node:path';
import { gvisorRuntime } from './gvisor-runtime.mjs';
import { findProgram, searchPath } from './programs.mjs';
import { tail } from '../processes/run-command.mjs';
import { waitUntil } from '../processes/wait-until.mjs';

const socketPath = '/var/run/docker.sock';
const startTimeoutMs = 30_000;
const stopTimeoutMs = 20_000;

/**
 * @typedef {object} Engine
 * @property {string} state one line: running, started, or the reason why it is unavailable
 * @property {() => Promise<void>} stop ends the engine if this process has started it
 */

/**
 * A Docker engine for the tests that need one: the running one, else one started here, which only root can.
 *
 * @param {string} logFile where a started engine writes
 * @returns {Promise<Engine>}
 */
export async function useDockerEngine(logFile) {
  const nothing = async () => {};
  if (process.env['DOCKER_HOST'] !== undefined) return { state: 'the one DOCKER_HOST names', stop: nothing };
  if (existsSync(socketPath) && (await answers().catch(() => false)))
    return { state: 'already running', stop: nothing };
  const path = searchPath(dirname(logFile));
  const program = findProgram('dockerd', path);
  if (program === undefined) return { state: 'none: dockerd is not installed', stop: nothing };
  if (process.getuid?.() !== 0) return { state: 'none: only root can start dockerd', stop: nothing };
  const runtime = gvisorRuntime({ path, folder: dirname(logFile) });
  return startEngine({ command: [program, ...runtime], setpriv: findProgram('setpriv', path), logFile });
}

/**
 * @param {{ command: string[], setpriv: string | undefined, logFile: string }} options
 * @returns {Promise<Engine>}
 */
async function startEngine({ command, setpriv, logFile }) {
  mkdirSync(dirname(logFile), { recursive: true });
  const log = openSync(logFile, 'w');
  const [file = '', ...args] = setpriv === undefined ? command : [setpriv, '--pdeathsig', 'TERM', '--', ...command];
  const child = spawn(file, args, { detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  const over = new AbortController();
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => {
    const end = () => {
      over.abort(new Error('dockerd ended'));
      resolve();
    };
    child.once('exit', end);
    child.once('error', end);
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const deadline = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    await ended;
    clearTimeout(deadline);
  };
  const late = AbortSignal.timeout(startTimeoutMs);
  try {
    await waitUntil(answers, AbortSignal.any([over.signal, late]));
    return { state: 'started for the tests', stop };
  } catch {
    await stop();
    const reason = late.aborted ? `did not answer within ${startTimeoutMs} ms` : 'did not start here';
    return { state: `none: dockerd ${reason}:\n${tail(readFileSync(logFile, 'utf8'), 3)}`, stop };
  }
}

/** Whether an engine answers on the default socket. @returns {Promise<boolean>} */
function answers() {
  return new Promise((resolve, reject) => {
    const ping = request({ socketPath, path: '/_ping', timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    ping.once('timeout', () => ping.destroy(new Error('no answer')));
    ping.once('error', reject);
    ping.end();
  });
}
