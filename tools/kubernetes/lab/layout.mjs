import { join } from 'node:path';
import { inRepository } from '../../launcher/repository.mjs';

/** Where the lab's files are, and its addresses. Everything but the repository's own files is below one folder, which git ignores. */

/** CARIBOU_KUBERNETES_LAB names another folder, for a second checkout that shares what was built. */
export const folder = process.env['CARIBOU_KUBERNETES_LAB'] ?? inRepository('.caribou', 'kubernetes');

/** @param {string[]} parts */
export const built = (...parts) => join(folder, 'bin', ...parts);
/** @param {string[]} parts */
export const imageFile = (...parts) => join(folder, 'images', ...parts);
/** What exists while a cluster runs. @param {string[]} parts */
export const run = (...parts) => join(folder, 'run', ...parts);

export const kubeconfig = run('kubeconfig');

/** The network that connects this machine, the control plane and the nodes; a bridge in the namespace of the control plane. */
export const machines = { cidr: '10.87.0.0/24', host: '10.87.0.1', control: '10.87.0.2' };
/** The interface of this machine in that network; it disappears with the namespaces. */
export const hostLink = 'caribou-lab';

export const services = { cidr: '10.96.0.0/16', api: '10.96.0.1', dns: '10.96.0.10' };
export const pods = '10.244.0.0/16';
export const apiPort = 6443;

export const mostNodes = 4;

/**
 * @typedef {object} LabNode
 * @property {string} name
 * @property {string} address in the network of the machines
 * @property {string} pods the addresses of its pods
 * @property {string} files its folder
 */

/** @param {number} index from 0 @returns {LabNode} */
export const nodeAt = (index) => ({
  name: `node-${index}`,
  address: `10.87.0.${11 + index}`,
  pods: `10.244.${index}.0/24`,
  files: run(`node-${index}`),
});
