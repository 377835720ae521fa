import { accessSync, constants, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '@caribou/config';
import { type Finding, fail, ok, reasonOf, warn } from './finding.js';
import type { Surroundings } from './surroundings.js';

const GiB = 1024 ** 3;
const HEALTH_MS = 2_000;

/** The data folder: that it can be written, and what is free on its disk. */
export function checkDisk({ homeDir, sandbox }: Config): readonly Finding[] {
  const there = nearest(homeDir);
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
  } catch (error) {
    return [
      fail('data', `${there} cannot be written (${reasonOf(error)})`, 'set CARIBOU_HOME, or the rights of the folder'),
    ];
  }
  const { bavail, bsize } = statfsSync(there);
  const free = bavail * bsize;
  const text = `${homeDir}: ${(free / GiB).toFixed(1)} GiB free`;
  const { minFreeBytes } = sandbox.limits;
  if (free <= minFreeBytes) {
    const least = `${text}, under the ${(minFreeBytes / GiB).toFixed(2)} GiB of sandbox.limits.min_free_bytes`;
    return [fail('data', least, 'free some space, or put CARIBOU_HOME on another disk')];
  }
  if (free > minFreeBytes + GiB) return [ok('data', text)];
  return [warn('data', text, 'free some space, or put CARIBOU_HOME on another disk')];
}

/** The folder, or the nearest one above it that is there. */
function nearest(path: string): string {
  try {
    accessSync(path, constants.F_OK);
    return path;
  } catch {
    return dirname(path) === path ? path : nearest(dirname(path));
  }
}

/** The gateway's port: free, or held by a gateway that answers. */
export async function checkPort({ http }: Config, { isPortFree }: Surroundings): Promise<readonly Finding[]> {
  const { host, port } = http;
  if (port === 0) return [ok('port', 'any free one')];
  if (await isPortFree({ host, port })) return [ok('port', `${port} is free on ${host}`)];
  if (await answersAsGateway(host, port)) return [ok('port', `Caribou runs on ${port} already`)];
  return [fail('port', `${port} is taken by another program`, 'set PORT to another one, or end that program')];
}

async function answersAsGateway(host: string, port: number): Promise<boolean> {
  const at = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  try {
    const response = await fetch(`http://${at}:${port}/health`, { signal: AbortSignal.timeout(HEALTH_MS) });
    return response.ok && (await response.text()).includes('healthy');
  } catch {
    return false;
  }
}
