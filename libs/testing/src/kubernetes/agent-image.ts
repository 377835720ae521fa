import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const repository = join(__dirname, '..', '..', '..', '..');

/** Where the image of sandboxes has the agent; see docker/sandbox/Dockerfile. */
export const AGENT_FOLDER = '/usr/local/lib/caribou';

/** Makes a folder with what the image of sandboxes has of the agent: its bundle, its addon, and a Node that is not readable. */
export async function buildAgentFolder(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'caribou-agent-'));
  const bundler = JSON.stringify(pathToFileURL(join(repository, 'tools/build/bundle-agent.mjs')).href);
  // Jest cannot import an ES module without a flag of Node.
  const script = `import(${bundler}).then((tool) => tool.bundleAgent(${JSON.stringify(repository)})).then(console.log)`;
  const { stdout } = await run(process.execPath, ['-e', script]);
  copyFileSync(stdout.trim(), join(folder, 'sandbox-agent.js'));
  const source = join(repository, 'apps', 'sandbox-agent', 'native', 'process-one.c');
  await run('cc', ['-O2', '-shared', '-fPIC', '-o', join(folder, 'process-one.node'), source]);
  copyFileSync(process.execPath, join(folder, 'node'));
  chmodSync(join(folder, 'node'), 0o711);
  chmodSync(folder, 0o755);
  return folder;
}
