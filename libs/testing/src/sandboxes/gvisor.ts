import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { busyboxProgram, missingForDocker } from './docker-image.js';

/** More than a busy machine needs for all steps of the trial. */
const TRIAL_TIMEOUT_MS = 60_000;
const LOST_KILL = 'the end of a killed command';

/**
 * Why no gVisor sandbox can be used for a test, or null: the engine knows no runtime `runsc`, or a sandbox does not
 * start, take a command and die here.
 */
export function missingForGvisor(): string | null {
  const missing = missingForDocker();
  if (missing !== null) return missing;
  const first = trialFailure();
  if (first === null) return null;
  // One lost kill on a busy machine is not a reason to skip gVisor.
  const second = first.includes(LOST_KILL) ? trialFailure() : first;
  return second === null ? null : `gVisor does not work here: ${second}`;
}

function trialFailure(): string | null {
  const trial = spawnSync(process.execPath, [join(__dirname, 'gvisor-trial.js'), busyboxProgram() ?? ''], {
    encoding: 'utf8',
    timeout: TRIAL_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  if (trial.status === 0) return null;
  return trial.stdout === '' ? (trial.error?.message ?? trial.stderr) : trial.stdout;
}
