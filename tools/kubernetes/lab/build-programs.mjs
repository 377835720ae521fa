import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, tail } from '../../launcher/processes/run-command.mjs';
import { LauncherError, say, step } from '../../launcher/processes/terminal.mjs';
import { inRepository } from '../../launcher/repository.mjs';
import { built } from './layout.mjs';

/** Builds the programs of the cluster from Go modules, in some minutes the first time; afterwards nothing is done. */

const sources = inRepository('tools', 'kubernetes', 'lab', 'programs');
const buildTimeoutMs = 30 * 60_000;

/** The components of Kubernetes, all of them one program. */
const components = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy', 'kubectl'];
const kubernetes = /k8s\.io\/kubernetes v(\d+)\.(\d+)\.(\d+)/;

/** What was built, so that a change of a version builds again. */
const stampFile = built('versions.json');
const wantedStamp = () =>
  JSON.stringify({
    modules: readFileSync(join(sources, 'go.sum'), 'utf8').length,
    module: readFileSync(join(sources, 'go.mod'), 'utf8'),
  });

/** @returns {boolean} */
export const areBuilt = () => existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wantedStamp();

/** @param {{ signal: AbortSignal }} options @returns {Promise<void>} */
export async function buildPrograms({ signal }) {
  if (areBuilt()) {
    say('programs of the cluster: built');
    return;
  }
  mkdirSync(built(), { recursive: true });
  rmSync(stampFile, { force: true });
  const [, major = '', minor = '', patch = ''] = kubernetes.exec(readFileSync(join(sources, 'go.mod'), 'utf8')) ?? [];
  const version = 'k8s.io/component-base/version';
  const flags = [
    `-X ${version}.gitVersion=v${major}.${minor}.${patch}`,
    `-X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor} -s -w`,
  ].join(' ');
  for (const name of ['pause', 'etcd', 'cluster', 'coredns', 'policies'])
    await step(`building ${name}`, () =>
      go(['build', '-trimpath', '-ldflags', flags, '-o', built(name), `./${name}`], signal),
    );
  for (const name of components) {
    rmSync(built(name), { force: true });
    symlinkSync('cluster', built(name));
  }
  writeFileSync(stampFile, wantedStamp());
}

/** @param {string[]} args @param {AbortSignal} signal */
async function go(args, signal) {
  const { code, output } = await runCommand('nice', ['-n', '5', 'go', ...args], {
    cwd: sources,
    timeoutMs: buildTimeoutMs,
    signal,
    // Static programs run in an empty image too.
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOBIN: built() },
  });
  signal.throwIfAborted();
  if (code !== 0) throw new LauncherError(`go ${args.join(' ')} failed (exit ${code}):\n${tail(output, 20)}`);
}
