import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inRepository } from '../repository.mjs';
import { runCommand, tail } from '../processes/run-command.mjs';
import { say, step, warn } from '../processes/terminal.mjs';

const timeoutMs = 3 * 60_000;
/** A wheel with the schemas of the API of each version of Kubernetes, made from its OpenAPI documents. */
const wheel = 'kubernetes-validate==1.37.0';
const version = 'v1.34.0';
/** `openPodSchema()` of @caribou/testing looks for it here. */
const folder = inRepository('.caribou', 'servers', 'kubernetes-schemas');
const definitions = join(folder, '_definitions.json');

/**
 * Fetches the schemas of Kubernetes against which tests check pods. What is missing is a warning and never an error: the tests
 * that need them say that they are skipped.
 *
 * @param {{ signal?: AbortSignal }} options
 * @returns {Promise<void>}
 */
export async function installKubernetesSchemas({ signal }) {
  if (existsSync(definitions)) {
    say('schemas of Kubernetes: installed');
    return;
  }
  await step('schemas of Kubernetes: fetching them from PyPI', async () => {
    const failure = await fetchDefinitions(signal);
    if (failure !== undefined) warn(`the schemas of Kubernetes are not installed, so pods are not checked: ${failure}`);
  });
}

/** @param {AbortSignal | undefined} signal @returns {Promise<string | undefined>} why it failed */
async function fetchDefinitions(signal) {
  const download = mkdtempSync(join(tmpdir(), 'caribou-schemas-'));
  const options = { timeoutMs, ...(signal === undefined ? {} : { signal }) };
  try {
    const pip = [
      '-m',
      'pip',
      'download',
      '--quiet',
      '--no-deps',
      '--disable-pip-version-check',
      '--dest',
      download,
      wheel,
    ];
    const fetched = await runCommand('python3', pip, options);
    if (fetched.code !== 0) return tail(fetched.output, 3);
    mkdirSync(folder, { recursive: true });
    const unpacked = await runCommand('python3', ['-c', UNPACK, download, version, definitions], options);
    return unpacked.code === 0 ? undefined : tail(unpacked.output, 3);
  } finally {
    rmSync(download, { recursive: true, force: true });
  }
}

/** Python: writes the definitions of a version from the one wheel of a folder to a file, as a whole. */
const UNPACK = `import glob, os, sys, zipfile
download, version, target = sys.argv[1:]
wheel = zipfile.ZipFile(glob.glob(download + '/*.whl')[0])
part = target + '.part'
with open(part, 'wb') as file:
    file.write(wheel.read(f'kubernetes_validate/kubernetes-json-schema/{version}-local/_definitions.json'))
os.rename(part, target)
`;
