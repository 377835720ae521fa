import { runCommand, tail } from './run-command.mjs';
import { repository } from '../repository.mjs';
import { LauncherError } from './terminal.mjs';

const timeoutMs = 10 * 60_000;

/**
 * Runs a script of this repository in a separate process, so that what it loads (compilers, the product's libs) does not
 * stay in memory while Caribou runs.
 *
 * @param {string[]} args the script and its arguments
 * @param {{ signal: AbortSignal, env?: NodeJS.ProcessEnv }} options
 * @returns {Promise<string>} its output
 * @throws {LauncherError} with the end of its output when it fails
 */
export async function runScript(args, { signal, env }) {
  const options = { cwd: repository, timeoutMs, signal, ...(env === undefined ? {} : { env }) };
  const { code, output } = await runCommand(process.execPath, args, options);
  if (code !== 0) throw new LauncherError(tail(output, 30));
  return output.trim();
}
