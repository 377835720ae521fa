import { accessSync, constants, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '@caribou/config';
import { type Finding, fail, ok, reasonOf, warn } from './finding.js';
import type { DoctorContext } from './doctor-context.js';

const GiB = 1024 ** 3;
const HEALTH_MS = 2_000;

/** Checks that the data folder can be written, and the free space on its disk. */
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

/** The folder, or the nearest existing one above it. */
function nearest(path: string): string {
  try {
    accessSync(path, constants.F_OK);
    return path;
  } catch {
    return dirname(path) === path ? path : nearest(dirname(path));
  }
}

/** Checks that the gateway's port is free, or used by a gateway that answers. */
export async function checkPort({ http }: Config, { isPortFree }: DoctorContext): Promise<readonly Finding[]> {
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
