import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { buildImages, images } from '../kubernetes/images/product-images.mjs';
import { buildPrograms } from '../kubernetes/lab/build-programs.mjs';
import { down, importImages, running, up } from '../kubernetes/lab/lab.mjs';
import { built, kubeconfig, machines } from '../kubernetes/lab/layout.mjs';
import { requireMachine } from '../kubernetes/lab/requirements.mjs';
import { inRange, runWithUsage } from './long-test.mjs';
import { helmProgram, installHelm } from './machine/helm.mjs';
import { requireNode } from './machine/node-version.mjs';
import { installPackages } from './machine/packages.mjs';
import { runCommand } from './processes/run-command.mjs';
import { LauncherError, say, step } from './processes/terminal.mjs';
import { inRepository, repository } from './repository.mjs';

/** `npm run test:kubernetes`: the chart on a real cluster, which is started for it and ended afterwards; docs/kubernetes.md. */

const usage = `npm run test:kubernetes -- [--minutes 10] [--nodes 2] [--lanes 8] [--seed N] [--phases NAMES] [--keep]
Builds programs and images, starts a cluster on this machine, installs the chart, and works on it while it is scaled, rolled, drained
and broken; then pods are killed and deleted at random for that many minutes. --phases leaves parts out (scale, roll, drain, image, quota,
api, etcd, losses); --keep leaves the cluster running. Ends with 1 on a violation.
With KUBECONFIG_TEST=FILE it uses a cluster of yours, whose nodes have the images, and which reaches this machine at KUBERNETES_TEST_HOST.`;

/** The scenario beside the minutes of losses. */
const overheadMs = 60 * 60_000;

const interrupted = new AbortController();
for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(name, () => {
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort(new LauncherError('interrupted'));
  });
}

/** Starts the lab with the images. @param {number} nodes @param {() => void} onStarted @returns {Promise<Record<string, string>>} what the test has to know */
async function startLab(nodes, onStarted) {
  const { signal } = interrupted;
  await requireMachine({ signal });
  await buildPrograms({ signal });
  const archive = await buildImages({ signal });
  await up({ nodes, signal });
  onStarted();
  await step('images', async () => {
    for (const machine of running().nodes) await importImages(machine, [archive]);
  });
  return {
    KUBERNETES_TEST_KUBECONFIG: kubeconfig,
    KUBERNETES_TEST_KUBECTL: built('kubectl'),
    KUBERNETES_TEST_LAB: inRepository('tools', 'kubernetes', 'lab', 'main.mjs'),
    KUBERNETES_TEST_HOST: machines.host,
    KUBERNETES_TEST_HOST_RANGE: machines.cidr,
  };
}

/** @param {string} file @returns {Record<string, string>} */
function ownCluster(file) {
  if (!existsSync(file)) throw new LauncherError(`KUBECONFIG_TEST names ${file}, which does not exist`);
  if (process.env['KUBERNETES_TEST_HOST'] === undefined)
    throw new LauncherError(
      'KUBERNETES_TEST_HOST has to be the address of this machine as pods of the cluster reach it',
    );
  return { KUBERNETES_TEST_KUBECONFIG: file };
}

/** @param {Record<string, string>} env @param {number} minutes @returns {Promise<number>} */
async function runTest(env, minutes) {
  const jest = inRepository('node_modules', 'jest', 'bin', 'jest.js');
  const { code } = await runCommand(
    process.execPath,
    [jest, 'e2e/kubernetes', '--runInBand', '--selectProjects', 'e2e'],
    {
      cwd: repository,
      timeoutMs: minutes * 60_000 + overheadMs,
      signal: interrupted.signal,
      env: {
        ...process.env,
        ...env,
        KUBERNETES_TEST_HELM: helmProgram,
        KUBERNETES_TEST_IMAGES: JSON.stringify(images),
      },
      onError: (text) => process.stdout.write(text),
    },
  );
  return code === 0 ? 0 : 1;
}

/** @returns {Promise<number>} the exit code */
async function testKubernetes() {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      nodes: { type: 'string', default: '2' },
      lanes: { type: 'string', default: '8' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      phases: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    say(usage);
    return 0;
  }
  const minutes = inRange('minutes', values.minutes, 0, 24 * 60);
  const env = {
    KUBERNETES_TEST_MINUTES: String(minutes),
    KUBERNETES_TEST_LANES: String(inRange('lanes', values.lanes, 1, 100)),
    KUBERNETES_TEST_SEED: String(inRange('seed', values.seed, 0, 2 ** 32 - 1)),
    ...(values.phases === undefined ? {} : { KUBERNETES_TEST_PHASES: values.phases }),
  };
  const nodes = inRange('nodes', values.nodes, 1, 4);
  requireNode();
  if (!(await installHelm({ signal: interrupted.signal }))) throw new LauncherError('Helm installs the chart');
  await installPackages({ dev: true, signal: interrupted.signal });
  const given = process.env['KUBECONFIG_TEST'];
  let isOurs = false;
  try {
    const cluster = given === undefined ? await startLab(nodes, () => (isOurs = true)) : ownCluster(given);
    say(`kubernetes: seed ${env.KUBERNETES_TEST_SEED}, ${minutes} minutes of losses`);
    return await runTest({ ...env, ...cluster }, minutes);
  } finally {
    if (isOurs && !values.keep) await step('cluster ended', down);
  }
}

await runWithUsage(usage, testKubernetes);
