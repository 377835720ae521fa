import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inParallel } from '../sample.js';
import type { ProcessGroup } from '../process-group.js';
import { readyMessage, type RunningProcess } from '../processes.js';
import { dist } from '../servers.js';

const root = join(dist, '..');
const SOURCE = join(root, 'tools/bench/peer');
/** Outside of the product's own packages; `npm ci` empties it. */
const CACHE = join(root, 'node_modules/.cache/bench-peer');
const FILES = ['package.json', 'package-lock.json', 'peer-server.mjs'];
const INSTALL_TIMEOUT_MS = 300_000;

/**
 * Copies the peer's files into a folder of the cache and installs its packages there, unless those of the same lock file
 * are there already. @throws Error with npm's output when it fails
 */
async function installPeer(): Promise<string> {
  await mkdir(CACHE, { recursive: true });
  await inParallel(FILES.length, FILES.length, (at) =>
    copyFile(join(SOURCE, FILES[at] ?? ''), join(CACHE, FILES[at] ?? '')),
  );
  const installed = join(CACHE, '.installed');
  const lock = await readFile(join(CACHE, 'package-lock.json'), 'utf8');
  if ((await textOf(installed)) === lock) return CACHE;
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', args, { cwd: CACHE, timeout: INSTALL_TIMEOUT_MS });
  await writeFile(installed, lock);
  return CACHE;
}

/** The text of a file, empty for a missing one. */
async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

/** Starts the peer on the model; its packages are downloaded the first time. */
export async function startPeer({ start }: ProcessGroup, modelUrl: string): Promise<RunningProcess> {
  const folder = await installPeer();
  return start({
    name: 'peer',
    command: [process.execPath, '--max-semi-space-size=64', join(folder, 'peer-server.mjs'), modelUrl],
    untilReady: readyMessage,
  });
}
