import { setTimeout as delay } from 'node:timers/promises';
import { runCommand, tail } from '../../launcher/processes/run-command.mjs';
import { LauncherError, step } from '../../launcher/processes/terminal.mjs';
import { waitUntil } from '../../launcher/processes/wait-until.mjs';
import { makeCertificates } from './certificates.mjs';
import { clusterParts, volumeFolders } from './cluster-parts.mjs';
import { makeGroup, readKernelSettings, removeGroup, restoreKernelSettings } from './control-groups.mjs';
import { controlPrograms, startControlProgram } from './control-plane.mjs';
import { packSystemImages } from './image-archives.mjs';
import { built, kubeconfig, nodeAt, run } from './layout.mjs';
import { endMachine, isUp, logOf, runIn, runsIn, startMachine } from './namespaces.mjs';
import { addRoutes, connectControl, connectNode, disconnect, requireFreeAddresses } from './network.mjs';
import { configureNode, ctr, groupOf, nodePrograms, startNodeProgram } from './node-programs.mjs';
import { readState, removeState, writeState } from './state.mjs';

/** @typedef {import('./namespaces.mjs').Machine} Machine @typedef {import('./layout.mjs').LabNode} LabNode */

const readyTimeoutMs = 90_000;
const pauseMs = 200;
const kubectlTimeoutMs = 60_000;
const importTimeoutMs = 5 * 60_000;

/**
 * Starts a cluster; on failure and on an abort nothing of it stays.
 *
 * @param {{ nodes: number, signal: AbortSignal }} options
 */
export async function up({ nodes, signal }) {
  if (readState() !== undefined)
    throw new LauncherError('A lab runs here already, or has left something: end it by `down` first.');
  await requireFreeAddresses();
  try {
    await step('cluster', () => start(nodes, signal));
  } catch (error) {
    await down();
    throw error;
  }
}

/** @param {number} count @param {AbortSignal} signal */
async function start(count, signal) {
  const nodes = Array.from({ length: count }, (_, index) => nodeAt(index));
  const groups = nodes.map(groupOf);
  /** @type {import('./state.mjs').LabState} */
  const state = { control: undefined, nodes: [], groups, kernel: readKernelSettings() };
  writeState(state);
  await makeCertificates();
  const control = await startMachine('control', run('control'));
  writeState({ ...state, control });
  await connectControl(control);
  for (const name of controlPrograms.slice(0, 2)) startControlProgram(control, name);
  const machines = await startNodes(control, nodes, (started) => writeState({ ...state, control, nodes: started }));
  const archives = await packSystemImages();
  for (const { machine } of machines) await importImages(machine, archives);
  await until(
    'the API server to be ready',
    signal,
    () => logOf(control, 'kube-apiserver'),
    async () => (await kubectl(['get', '--raw', '/readyz'])).startsWith('ok'),
  );
  for (const name of controlPrograms.slice(2)) startControlProgram(control, name);
  for (const { machine, node } of machines)
    for (const name of nodePrograms.slice(1)) startNodeProgram(machine, node, name);
  const [first] = machines;
  if (first === undefined) throw new LauncherError('a lab has at least one node');
  await runIn(first.machine, ['mkdir', '-p', ...volumeFolders]);
  await kubectl(['apply', '-f', '-'], clusterParts(first.node));
  await until(
    'the nodes and DNS to be ready',
    signal,
    () => logOf(first.machine, 'kubelet'),
    () => isReady(nodes),
  );
  await requirePrograms(control, controlPrograms);
  for (const { machine } of machines) await requirePrograms(machine, nodePrograms);
}

/** @param {Machine} machine @param {string[]} names @throws {LauncherError} when one of its programs has ended */
async function requirePrograms(machine, names) {
  for (const name of names)
    if (!(await runsIn(machine, name)))
      throw new LauncherError(`${name} of ${machine.name} has ended; its output is in ${logOf(machine, name)}`);
}

/** @param {Machine} control @param {LabNode[]} nodes @param {(machines: Machine[]) => void} onStarted */
async function startNodes(control, nodes, onStarted) {
  /** @type {{ machine: Machine, node: LabNode }[]} */
  const started = [];
  for (const node of nodes) {
    makeGroup(groupOf(node));
    const machine = await startMachine(node.name, node.files);
    started.push({ machine, node });
    onStarted(started.map((one) => one.machine));
    configureNode(node);
    await connectNode({ control, machine, node });
    startNodeProgram(machine, node, 'containerd');
  }
  await addRoutes({ control, nodes: started });
  return started;
}

/** @param {LabNode[]} nodes */
async function isReady(nodes) {
  const ready = await kubectl([
    'get',
    'nodes',
    '-o',
    'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{" "}{end}',
  ]);
  const dns = await kubectl([
    '-n',
    'kube-system',
    'get',
    'deployment',
    'coredns',
    '-o',
    'jsonpath={.status.readyReplicas}',
  ]);
  return ready.split('True').length - 1 === nodes.length && dns === '1';
}

/** @param {string} what @param {AbortSignal} signal @param {() => string} log @param {() => Promise<boolean>} condition */
async function until(what, signal, log, condition) {
  const deadline = Date.now() + readyTimeoutMs;
  while (!(await condition().catch(() => false))) {
    signal.throwIfAborted();
    if (Date.now() > deadline) {
      const { output } = await runCommand('tail', ['-n', '15', log()], { timeoutMs: 5_000 });
      throw new LauncherError(`Waited ${readyTimeoutMs / 1000} s for ${what}. The last lines of ${log()}:\n${output}`);
    }
    await delay(pauseMs);
  }
}

/** Makes images usable on a node. @param {Machine} machine @param {string[]} archives what `docker save` writes */
export async function importImages(machine, archives) {
  await waitUntil(async () => (await runIn(machine, [...ctr, 'version'])) !== '', AbortSignal.timeout(readyTimeoutMs));
  for (const archive of archives)
    await runIn(machine, [...ctr, 'images', 'import', archive], { timeoutMs: importTimeoutMs });
}

/**
 * Runs kubectl on the lab.
 *
 * @param {string[]} args
 * @param {string} [input] what it reads
 * @returns {Promise<string>}
 * @throws {LauncherError} when it fails
 */
export async function kubectl(args, input) {
  const lead = input === undefined ? ['"$@"'] : ['printf "%s" "$INPUT" | "$@"'];
  const { code, output } = await runCommand(
    'sh',
    ['-c', ...lead, 'sh', built('kubectl'), '--kubeconfig', kubeconfig, ...args],
    {
      timeoutMs: kubectlTimeoutMs,
      env: { ...process.env, INPUT: input ?? '' },
    },
  );
  if (code !== 0) throw new LauncherError(`kubectl ${args.join(' ')} failed:\n${tail(output)}`);
  return output;
}

/** Ends every process of the lab and removes its files. Does nothing without a lab. */
export async function down() {
  const state = readState();
  if (state === undefined) return;
  const machines = [...state.nodes, ...(state.control === undefined ? [] : [state.control])];
  await Promise.all(machines.map(endMachine));
  for (const group of state.groups) await removeGroup(group);
  restoreKernelSettings(state.kernel);
  await disconnect();
  removeState();
}

/** The running lab. @returns {{ control: Machine, nodes: Machine[] }} @throws {LauncherError} when none runs */
export function running() {
  const state = readState();
  if (state?.control === undefined || ![state.control, ...state.nodes].every(isUp))
    throw new LauncherError('No lab runs here.');
  return { control: state.control, nodes: state.nodes };
}
