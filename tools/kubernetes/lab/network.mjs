import { runCommand, tail } from '../../launcher/processes/run-command.mjs';
import { LauncherError } from '../../launcher/processes/terminal.mjs';
import { hostLink, machines, pods, services } from './layout.mjs';
import { runIn } from './namespaces.mjs';

/**
 * The network of the lab, all of which belongs to the machines' namespaces but one interface of this machine and its routes, which
 * disappear with them:
 *
 *   this machine 10.87.0.1 ── bridge in the control plane 10.87.0.2 ── nodes 10.87.0.11 …
 *
 * Pods are reached through their node, services through the first node, so that a test on this machine can call both.
 *
 * @typedef {import('./namespaces.mjs').Machine} Machine
 * @typedef {import('./layout.mjs').LabNode} LabNode
 */

const bridge = 'lab';
const timeoutMs = 15_000;

/** Runs ip(8) on this machine. @param {string} line */
async function ip(line) {
  const { code, output } = await runCommand('ip', line.split(' '), { timeoutMs });
  if (code !== 0) throw new LauncherError(`ip ${line} failed: ${tail(output, 3)}`);
  return output;
}

/** @param {Machine} machine @param {string} line */
const ipIn = (machine, line) => runIn(machine, ['ip', ...line.split(' ')], { timeoutMs });

/** @throws {LauncherError} when a range of addresses of the lab is in use */
export async function requireFreeAddresses() {
  const routes = await ip('route show');
  const taken = [machines.cidr, services.cidr, pods].find((cidr) => routes.includes(cidr.replace('.0/24', '.')));
  if (taken !== undefined || routes.includes(hostLink))
    throw new LauncherError(
      `The addresses ${taken ?? machines.cidr} are in use on this machine, perhaps by another lab.`,
    );
}

/** @param {Machine} control */
export async function connectControl(control) {
  await ip(`link add ${hostLink} type veth peer name uplink netns ${control.pid}`);
  await ip(`address add ${machines.host}/24 dev ${hostLink}`);
  await ip(`link set ${hostLink} up`);
  await ipIn(control, `link add ${bridge} type bridge`);
  await ipIn(control, `address add ${machines.control}/24 dev ${bridge}`);
  await ipIn(control, `link set uplink master ${bridge} up`);
  await ipIn(control, `link set ${bridge} up`);
  await ipIn(control, `route add default via ${machines.host}`);
}

/** @param {{ control: Machine, machine: Machine, node: LabNode }} ends */
export async function connectNode({ control, machine, node }) {
  await ip(`link add name ${node.name} netns ${control.pid} type veth peer name eth0 netns ${machine.pid}`);
  await ipIn(control, `link set ${node.name} master ${bridge} up`);
  await ipIn(machine, `address add ${node.address}/24 dev eth0`);
  await ipIn(machine, 'link set eth0 up');
  await ipIn(machine, `route add default via ${machines.host}`);
  // What is sent to a pod that is gone is refused at once.
  await ipIn(machine, `route add unreachable ${node.pods}`);
}

/** Everybody reaches every pod and service. @param {{ control: Machine, nodes: { machine: Machine, node: LabNode }[] }} lab */
export async function addRoutes({ control, nodes }) {
  const [first] = nodes;
  if (first === undefined) throw new LauncherError('a lab has at least one node');
  await ip(`route add ${services.cidr} via ${first.node.address}`);
  await ipIn(control, `route add ${services.cidr} via ${first.node.address}`);
  for (const { node } of nodes) {
    await ip(`route add ${node.pods} via ${node.address}`);
    await ipIn(control, `route add ${node.pods} via ${node.address}`);
    for (const other of nodes.filter(({ node: { name } }) => name !== node.name))
      await ipIn(other.machine, `route add ${node.pods} via ${node.address}`);
  }
}

/** Whether this machine's interface is there. @returns {Promise<boolean>} */
async function isConnected() {
  const { code } = await runCommand('ip', ['link', 'show', hostLink], { timeoutMs });
  return code === 0;
}

/** Removes this machine's interface, with its routes. The kernel does so too, but may take a minute after the end of the last process. */
export async function disconnect() {
  if (!(await isConnected())) return;
  try {
    await ip(`link delete ${hostLink}`);
  } catch (error) {
    // The kernel may have been faster.
    if (await isConnected()) throw error;
  }
}
