import { chmodSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, tail } from '../../launcher/processes/run-command.mjs';
import { LauncherError } from '../../launcher/processes/terminal.mjs';
import { inRepository, repository } from '../../launcher/repository.mjs';

/** What docker/sandbox/Dockerfile adds for pods: process 1, with a node that only runs and cannot be read. */

const timeoutMs = 60_000;
const source = inRepository('apps', 'sandbox-agent', 'native', 'process-one.c');

/** Writes the files below a folder. @param {string} root */
export async function agentFiles(root) {
  const folder = join(root, 'usr', 'local', 'lib', 'caribou');
  mkdirSync(folder, { recursive: true });
  const { bundleAgent } = await import('../../build/bundle-agent.mjs');
  copyFileSync(await bundleAgent(repository), join(folder, 'sandbox-agent.js'));
  copyFileSync(process.execPath, join(folder, 'node'));
  chmodSync(join(folder, 'node'), 0o711);
  const args = ['-shared', '-fPIC', '-O2', '-Wall', '-o', join(folder, 'process-one.node'), source];
  const { code, output } = await runCommand('gcc', args, { timeoutMs });
  if (code !== 0) throw new LauncherError(`gcc could not compile ${source}:\n${tail(output, 5)}`);
  for (const place of ['workspace', 'uploads', 'outputs'])
    mkdirSync(join(root, 'mnt', 'user-data', place), { recursive: true });
  mkdirSync(join(root, 'mnt', 'skills'), { recursive: true });
}
