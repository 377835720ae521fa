import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LauncherError } from '../../launcher/processes/terminal.mjs';

/** Control groups outlive the processes of a machine, and kubelet changes settings of the whole kernel: both are undone here. */

const root = '/sys/fs/cgroup';
const isUnified = existsSync(join(root, 'cgroup.controllers'));
const removeTimeoutMs = 15_000;

/** The folders in which a group is made: one with version 2, one for each controller with version 1. */
const hierarchies = () =>
  isUnified
    ? [root]
    : readdirSync(root, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => join(root, name));

/** Makes the control group of a node. @param {string} name */
export function makeGroup(name) {
  if (isUnified) {
    const controllers = readFileSync(join(root, 'cgroup.controllers'), 'utf8').trim().split(' ');
    writeFileSync(join(root, 'cgroup.subtree_control'), controllers.map((controller) => `+${controller}`).join(' '));
  }
  for (const hierarchy of hierarchies()) {
    const group = join(hierarchy, name);
    mkdirSync(group, { recursive: true });
    // A new group of version 1 may use no processor before it is said which.
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      if (!isUnified && existsSync(join(group, file)))
        writeFileSync(join(group, file), readFileSync(join(hierarchy, file)));
  }
}

/** Removes a group with all below it, once its processes have ended. @param {string} name */
export async function removeGroup(name) {
  const deadline = Date.now() + removeTimeoutMs;
  for (const hierarchy of hierarchies()) {
    const group = join(hierarchy, name);
    while (existsSync(group)) {
      try {
        removeTree(group);
      } catch (cause) {
        if (Date.now() > deadline) throw new LauncherError(`the control group ${group} is still in use`, { cause });
        await delay(100);
      }
    }
  }
}

/** @param {string} group */
function removeTree(group) {
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(group, entry.name));
  rmdirSync(group);
}

const kernelSettings = [
  'vm/overcommit_memory',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
];
const fileOf = (/** @type {string} */ name) => join('/proc/sys', name);

/** The settings of the kernel that kubelet changes. @returns {Record<string, string>} */
export const readKernelSettings = () =>
  Object.fromEntries(kernelSettings.map((name) => [name, readFileSync(fileOf(name), 'utf8').trim()]));

/** @param {Record<string, string>} settings what `readKernelSettings` returned */
export function restoreKernelSettings(settings) {
  for (const [name, value] of Object.entries(settings))
    if (kernelSettings.includes(name)) writeFileSync(fileOf(name), value);
}
