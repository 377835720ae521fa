import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { UnavailableError } from '@caribou/contracts';
import type { ConversionJob } from './conversion-job.js';

const PRLIMIT = '/usr/bin/prlimit';
const MIB = 1024 * 1024;
/** Memory besides the heap for the file, inflated parts and Node itself, in MiB. */
const MAX_NATIVE_MIB = 1024;
const MAX_OPEN_FILES = 128;

/** The folder that holds both `dist/` and `node_modules/`, seen from `dist/libs/documents/src/conversion/`. */
const installation = (program: string) => join(dirname(program), '../../../../..');

const PACKAGES = 'node_modules/';

/** The target of `node_modules` if it is a link; that path must be readable too. */
function resolvePackagesFolder(): string {
  const known = require.resolve('zod');
  return known.slice(0, known.lastIndexOf(PACKAGES) + PACKAGES.length);
}

/** Node's permission model: no writes, processes, threads or addons, nothing to read but code; and no code from text. */
function permissions(program: string): readonly string[] {
  const named = ['dist/', PACKAGES, 'package.json'].map((path) => join(installation(program), path));
  // Node 20 aborts when a path is named twice.
  const readable = [...new Set([...named, resolvePackagesFolder()])];
  return [
    process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    '--disallow-code-generation-from-strings',
  ];
}

const startProcess = async (command: string, args: readonly string[], stdio: StdioOptions): Promise<ChildProcess> => {
  const child = spawn(command, args, { cwd: '/', env: {}, stdio });
  await once(child, 'spawn');
  if (child.pid !== undefined) yieldToServices(child.pid);
  return child;
};

/** Lowers the priority of a conversion, which runs for seconds in the background, below the services. */
function yieldToServices(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // It may have ended by now, which is noticed when its reply is read.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SYSTEM_ERROR')) throw error;
  }
}

/**
 * Starts the conversion process: empty environment, bounded heap, no rights on files; with prlimit (util-linux) also
 * bounded processor time, data size and descriptors, and no file it could write.
 *
 * @throws UnavailableError when it does not start
 */
export async function startLimited(program: string, job: ConversionJob): Promise<ChildProcess> {
  const { maxHeapMib, deadlineMs } = job.limits;
  const stdio: StdioOptions = ['pipe', 'ignore', 'ignore', 'pipe'];
  const node = [`--max-old-space-size=${maxHeapMib}`, ...permissions(program), program, JSON.stringify(job)];
  const limits = [
    `--cpu=${Math.ceil(deadlineMs / 1000) + 1}`,
    `--data=${(maxHeapMib + MAX_NATIVE_MIB) * MIB}`,
    `--nofile=${MAX_OPEN_FILES}`,
    '--fsize=0',
    '--core=0',
  ];
  try {
    return await startProcess(PRLIMIT, [...limits, process.execPath, ...node], stdio).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
        return startProcess(process.execPath, node, stdio);
      }
      throw error;
    });
  } catch (error) {
    throw new UnavailableError('the conversion process does not start', { cause: error });
  }
}
