import { runCaribou } from './product/caribou.mjs';
import { requireNode } from './machine/node-version.mjs';
import { LauncherError, warn } from './processes/terminal.mjs';

/** `npm start`: from a bare machine to a running system. The first Ctrl-C stops it in order, a second one at once. */

const interrupted = new AbortController();
for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(name, () => {
    // Children die with this process if setpriv is installed; otherwise the next start ends them.
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort();
  });
}

try {
  requireNode();
  await runCaribou(interrupted.signal);
} catch (error) {
  if (!interrupted.signal.aborted) {
    warn(error instanceof LauncherError ? error.message : String(error instanceof Error ? error.stack : error));
    process.exitCode = 1;
  }
}
