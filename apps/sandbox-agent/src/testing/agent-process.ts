import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type CommandIdentity, commandIdentity, systemClock } from '@caribou/core';
import { copyMirrors } from '@caribou/files';
import { HttpAgentClient } from '@caribou/sandbox';
import { freePort, testSandboxSettings, waitFor } from '@caribou/testing';

const ROOT = join(__dirname, '../../../..');
const GiB = 1024 ** 3;

/** The agent's files as they are in an image, of which a user may run Node only, not read it. */
export interface AgentImage {
  readonly folder: string;
}

/** Why the agent cannot be started as process 1 here; null when it can. */
function missingForAgent(): string | null {
  if (process.getuid?.() !== 0) return 'process 1 of namespaces needs root';
  const missing = ['bwrap', 'cc'].find(
    (name) => !(process.env['PATH'] ?? '').split(':').some((at) => existsSync(join(at, name))),
  );
  return missing === undefined ? null : `${missing} is not installed`;
}

/** `describe` where the agent can be started; else the tests are skipped, and the reason is printed. */
export function describeWithAgent(name: string, tests: () => void): void {
  const reason = missingForAgent();
  if (reason !== null) process.stderr.write(`skipped: ${name} (${reason})\n`);
  (reason === null ? describe : describe.skip)(name, tests);
}

/** Bundles the agent, and compiles its addon, below the folder. */
export async function buildAgent(folder: string): Promise<AgentImage> {
  const image = join(folder, 'image');
  mkdirSync(image, { mode: 0o755 });
  // Jest cannot import an ES module without a flag of Node.
  const script = `import(${JSON.stringify(pathToFileURL(join(ROOT, 'tools/build/bundle-agent.mjs')).href)}).then((tool) => tool.bundleAgent(${JSON.stringify(ROOT)})).then(console.log)`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
  copyFileSync(stdout.trim(), join(image, 'sandbox-agent.js'));
  const source = join(ROOT, 'apps/sandbox-agent/native/process-one.c');
  execFileSync('cc', ['-O2', '-Wall', '-Werror', '-shared', '-fPIC', '-o', join(image, 'process-one.node'), source]);
  copyFileSync(process.execPath, join(image, 'node'));
  chmodSync(join(image, 'node'), 0o711);
  for (const path of [folder, image]) chmodSync(path, 0o755);
  return { folder: image };
}

export interface AgentOptions {
  readonly orphanMs?: number;
  readonly proxyPort?: number;
}

/** The agent as process 1 of namespaces of its own, as the user of commands, without capabilities; as in a pod but for its network. */
export class AgentProcess {
  readonly token = randomBytes(24).toString('base64url');
  readonly owner: CommandIdentity = commandIdentity();
  stderr = '';
  private constructor(
    readonly child: ChildProcess,
    readonly port: number,
    readonly userData: string,
    readonly folder: string,
  ) {
    child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString('utf8')));
  }

  /** Needs to be root, who may make namespaces. */
  static async start(image: AgentImage, folder: string, options: AgentOptions = {}): Promise<AgentProcess> {
    const port = await freePort();
    const made = new Map(['user-data', 'skills', 'tmp'].map((name) => [name, join(folder, name)]));
    const { uid, gid } = commandIdentity();
    for (const path of made.values()) {
      mkdirSync(path, { recursive: true });
      chownSync(path, uid, gid);
    }
    const token = randomBytes(24).toString('base64url');
    const environment = {
      CARIBOU_AGENT_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
      CARIBOU_AGENT_HOST: '127.0.0.1',
      CARIBOU_AGENT_PORT: String(port),
      CARIBOU_AGENT_PROXY_PORT: String(options.proxyPort ?? 3128),
      CARIBOU_AGENT_ORPHAN_MS: String(options.orphanMs ?? 60_000),
    };
    const argv = [
      ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--as-pid-1', '--die-with-parent', '--clearenv'],
      ...['--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID', '--cap-add', 'CAP_SETPCAP'],
      ...['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/mnt'],
      ...['--bind', join(folder, 'user-data'), '/mnt/user-data', '--bind', join(folder, 'skills'), '/mnt/skills'],
      ...['--bind', join(folder, 'tmp'), '/tmp', '--ro-bind', image.folder, '/opt', '--chdir', '/'],
      ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
      ...[
        '--',
        'setpriv',
        `--reuid=${uid}`,
        `--regid=${gid}`,
        '--clear-groups',
        '--inh-caps=-all',
        '--bounding-set=-all',
      ],
      ...['--no-new-privs', '--', '/opt/node', '/opt/sandbox-agent.js'],
    ];
    const child = spawn('bwrap', argv, { stdio: ['ignore', 'ignore', 'pipe'] });
    const agent = new AgentProcess(child, port, join(folder, 'user-data'), folder);
    Object.assign(agent, { token });
    await waitFor(() => fetch(`http://127.0.0.1:${port}/healthz`).then(({ status }) => status === 204), {
      what: `the agent to listen: ${agent.stderr}`,
    });
    return agent;
  }

  /** A client whose copy of the thread's files is below `home`. */
  async client(home: string, threadId = 't1'): Promise<HttpAgentClient> {
    const mirrors = copyMirrors(home, { maxBytes: GiB, maxFileBytes: GiB });
    const client = new HttpAgentClient({
      endpoint: { host: '127.0.0.1', port: this.port, token: this.token },
      mirror: await mirrors.open({ userId: 'u1', threadId }),
      skills: mirrors,
      clock: systemClock,
      limits: { ...testSandboxSettings(home).limits, pids: 200, outputCeilingBytes: 2 * 1024 * 1024 },
      ownUsers: false,
    });
    await client.hold(60_000);
    return client;
  }

  /** Its number outside of its namespaces. */
  hostPids(): readonly number[] {
    const { pid } = this.child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  }

  /** Ends it, and with it all that runs in its namespaces. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const over = new Promise((resolve) => this.child.once('exit', resolve));
    // It does not end with its parent: the kernel drops that wish when a program starts that its user may not read.
    for (const pid of this.hostPids()) process.kill(pid, 'SIGKILL');
    await over;
  }
}
