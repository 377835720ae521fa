import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, tail } from '../processes/run-command.mjs';
import { say, step, warn } from '../processes/terminal.mjs';
import { inRepository } from '../repository.mjs';

/** The version that renders are compared with. */
const VERSION = 'v3.22.0';
const buildTimeoutMs = 15 * 60_000;
/** `findHelm()` of tools/kubernetes looks for it here. */
const folder = inRepository('.caribou', 'servers', 'helm');
/** Where it is once it is installed. */
export const helmProgram = join(folder, 'helm');
const marker = join(folder, 'installed.txt');

/**
 * Builds helm from its Go module, unless that version is there. What is missing is a warning and never an error: without helm
 * the tests of the chart check its committed renders and say what they skip.
 *
 * @param {{ signal?: AbortSignal }} options
 * @returns {Promise<boolean>} whether it is there
 */
export async function installHelm({ signal }) {
  if (installed() === VERSION) {
    say(`helm ${VERSION}: installed`);
    return true;
  }
  return step(`helm ${VERSION}: building it from its Go module, which takes minutes`, async () => {
    mkdirSync(folder, { recursive: true });
    const { code, output } = await runCommand('go', ['install', `helm.sh/helm/v3/cmd/helm@${VERSION}`], {
      env: { ...process.env, GOBIN: folder },
      timeoutMs: buildTimeoutMs,
      ...(signal === undefined ? {} : { signal }),
    });
    if (code === 0) writeFileSync(marker, VERSION);
    else warn(`helm is not built, so what needs it is skipped: ${tail(output, 3)}`);
    return code === 0;
  });
}

function installed() {
  try {
    return readFileSync(marker, 'utf8');
  } catch {
    return undefined;
  }
}
