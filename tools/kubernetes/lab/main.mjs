import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { LauncherError, say, warn } from '../../launcher/processes/terminal.mjs';
import { buildPrograms } from './build-programs.mjs';
import { kubeconfig, mostNodes } from './layout.mjs';
import { down, importImages, kubectl, running, up } from './lab.mjs';
import { runsIn, stopIn } from './namespaces.mjs';
import { controlPrograms, startControlProgram } from './control-plane.mjs';
import { nodePrograms } from './node-programs.mjs';
import { requireMachine } from './requirements.mjs';

/** A real Kubernetes cluster on this machine; tools/kubernetes/README.md. */

const usage = `node tools/kubernetes/lab/main.mjs COMMAND
  up [--nodes 1]     builds what is missing and starts a cluster; afterwards: export KUBECONFIG=${kubeconfig}
  load FILE...       makes images usable on all nodes; files as docker save writes them
  status             what runs
  stop PROGRAM       ends a program of the control plane with SIGKILL, such as kube-apiserver or etcd
  start PROGRAM      starts it again
  down               ends it, and removes all that belongs to it`;

const interrupted = new AbortController();
for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(name, () => {
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort(new LauncherError('interrupted'));
  });
}

/** @param {string | undefined} text */
function nodeCount(text) {
  const count = Number(text ?? '1');
  if (Number.isInteger(count) && count >= 1 && count <= mostNodes) return count;
  throw new LauncherError(`--nodes must be a whole number from 1 to ${mostNodes}`);
}

/** @param {string | undefined} name */
function controlProgram(name) {
  if (name !== undefined && controlPrograms.includes(name)) return name;
  throw new LauncherError(`PROGRAM must be one of ${controlPrograms.join(', ')}`);
}

async function status() {
  const { control, nodes } = running();
  for (const machine of [control, ...nodes]) {
    const names = machine === control ? controlPrograms : nodePrograms;
    const states = await Promise.all(
      names.map(async (name) => `${name} ${(await runsIn(machine, name)) ? 'runs' : 'ENDED'}`),
    );
    say(`${machine.name}: ${states.join(', ')}`);
  }
  process.stdout.write(await kubectl(['get', 'nodes,pods', '--all-namespaces', '-o', 'wide']));
}

/** @returns {Promise<void>} */
async function main() {
  const { values, positionals } = parseArgs({ options: { nodes: { type: 'string' } }, allowPositionals: true });
  const { signal } = interrupted;
  const [command, ...files] = positionals;
  if (command === 'up') {
    const nodes = nodeCount(values.nodes);
    await requireMachine({ signal });
    await buildPrograms({ signal });
    await up({ nodes, signal });
    say(`export KUBECONFIG=${kubeconfig}`);
  } else if (command === 'load' && files.length > 0) {
    const archives = files.map((file) => resolve(file));
    for (const node of running().nodes) await importImages(node, archives);
  } else if (command === 'stop') await stopIn(running().control, controlProgram(files[0]), 'KILL');
  else if (command === 'start') startControlProgram(running().control, controlProgram(files[0]));
  else if (command === 'status') await status();
  else if (command === 'down') await down();
  else throw new LauncherError(usage);
}

try {
  await main();
} catch (error) {
  warn(
    error instanceof LauncherError || error instanceof TypeError
      ? error.message
      : String(error instanceof Error ? error.stack : error),
  );
  process.exitCode = 1;
}
