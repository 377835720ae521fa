import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { busyboxProgram, missingForDocker } from './docker-image.js';

/** More than a busy machine takes for the trial's steps together. */
const TRIAL_TIMEOUT_MS = 60_000;

/**
 * Why no gVisor box can be used for a test, or null: the engine knows no runtime `runsc`, or a box does not start, take
 * a command and die here.
 */
export function missingForGvisor(): string | null {
  const missing = missingForDocker();
  if (missing !== null) return missing;
  const trial = spawnSync(process.execPath, [join(__dirname, 'gvisor-trial.js'), busyboxProgram() ?? ''], {
    encoding: 'utf8',
    timeout: TRIAL_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  if (trial.status === 0) return null;
  if (trial.stdout !== '') return `gVisor does not work here: ${trial.stdout}`;
  return `gVisor does not work here: ${trial.error?.message ?? trial.stderr}`;
}
