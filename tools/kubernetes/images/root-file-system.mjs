import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { findProgram, searchPath } from '../../launcher/machine/programs.mjs';
import { installDebianPackage } from '../../launcher/machine/system-packages.mjs';
import { runCommand, tail } from '../../launcher/processes/run-command.mjs';
import { LauncherError, step } from '../../launcher/processes/terminal.mjs';
import { inRepository } from '../../launcher/repository.mjs';
import { imageFile } from '../lab/layout.mjs';

/**
 * The lowest layer of all images: Debian with what the sandbox's Dockerfile installs, and the servers. One layer instead of one per image
 * is packed and unpacked once.
 */

const makeTimeoutMs = 15 * 60_000;
const mirror = 'http://deb.debian.org/debian';
const suite = 'bookworm';
const servers = ['redis-server', 'nats-server'];
const nodeUser = { uid: 1000, name: 'node' };
const agentUser = { uid: 10_001, name: 'agent' };

/** The packages that docker/sandbox/Dockerfile installs for commands. @returns {string[]} */
function sandboxPackages() {
  const file = readFileSync(inRepository('docker', 'sandbox', 'Dockerfile'), 'utf8');
  const [, list = ''] = /--no-install-recommends([^&]*)&& rm/.exec(file.slice(file.lastIndexOf('\nFROM '))) ?? [];
  const packages = list.split(/[\s\\]+/).filter((name) => name !== '');
  if (packages.length < 10) throw new LauncherError('docker/sandbox/Dockerfile does not list its packages as expected');
  return packages;
}

/** @param {{ uid: number, name: string }} user */
const userHooks = ({ uid, name }) => [
  `--customize-hook=chroot "$1" groupadd --gid ${uid} ${name}`,
  `--customize-hook=chroot "$1" useradd --uid ${uid} --gid ${name} --no-create-home --home-dir /tmp ${name}`,
];

/**
 * Makes the root file system from Debian's packages, about a minute, unless it is there.
 *
 * @param {{ signal: AbortSignal }} options
 * @returns {Promise<string>} a tar archive
 */
export async function rootFileSystem({ signal }) {
  const file = imageFile('debian.tar');
  const packages = [...new Set([...sandboxPackages(), ...servers])];
  const stamp = `${file}.packages`;
  if (existsSync(file) && existsSync(stamp) && readFileSync(stamp, 'utf8') === packages.join()) return file;
  if (findProgram('mmdebstrap', searchPath('/')) === undefined) await installDebianPackage('mmdebstrap', signal);
  mkdirSync(imageFile(), { recursive: true });
  const left = ['doc', 'man', 'locale'].map((folder) => `--dpkgopt=path-exclude=/usr/share/${folder}/*`);
  const args = [
    ...['--quiet', '--format=tar', '--mode=root', '--variant=essential', `--include=${packages.join()}`],
    ...left,
    ...userHooks(nodeUser),
    ...userHooks(agentUser),
    // As in the Dockerfile: programs without set-id bits give a command no rights.
    '--customize-hook=find "$1" -xdev -type f -perm /6000 -exec chmod ug-s {} +',
  ];
  await step('root file system of the images, from packages of Debian', async () => {
    const made = await runCommand('nice', ['-n', '5', 'mmdebstrap', ...args, suite, `${file}.part`, mirror], {
      timeoutMs: makeTimeoutMs,
      signal,
    });
    signal.throwIfAborted();
    if (made.code !== 0) throw new LauncherError(`mmdebstrap failed (exit ${made.code}):\n${tail(made.output)}`);
  });
  renameSync(`${file}.part`, file);
  writeFileSync(stamp, packages.join());
  return file;
}
