import { UnavailableError } from '@caribou/contracts';
import { type CommandResult, SandboxGoneError } from '../drivers/driver.js';
import type { Pod } from './api/pod.js';
import type { PodsApi } from './api/pods-api.js';
import { ApiFailure } from './api/api-failure.js';
import type { RunningPod } from './pods/pod-starter.js';
import { isOutOfMemory, stateOf } from './pods/pod-state.js';

/** 128 + SIGKILL. */
const KILLED = 137;
const OUT_OF_MEMORY = `
[killed: the memory of the sandbox is used up. The sandbox was started again: files that this command has changed, and /tmp, are as before it]
`;

export interface Loss {
  readonly pod: RunningPod;
  /** What the agent's client has thrown. */
  readonly error: UnavailableError;
  readonly durationMs: number;
}

/**
 * What a command that was cut off has come to, by what the API server knows of its pod. A command whose pod has run out of
 * memory has a result, as all its processes were killed.
 *
 * @throws {SandboxGoneError} when the command did not start, with what became of the pod
 * @throws {UnavailableError} when it may have run, with the same
 */
export async function explainLoss(api: Pick<PodsApi, 'get'>, loss: Loss): Promise<CommandResult> {
  const { error, pod, durationMs } = loss;
  const found = await findPod(api, pod);
  const hasStarted = !(error instanceof SandboxGoneError);
  if (hasStarted && found !== undefined && found !== null && isOutOfMemory(found))
    return { exitCode: KILLED, stdout: '', stderr: OUT_OF_MEMORY, truncatedBytes: 0, endedBy: 'exit', durationMs };
  const why = found === undefined ? undefined : whyEnded(found);
  if (why === undefined) throw error;
  const options = { cause: error, details: error.details };
  const text = `kubernetes: ${why}`;
  throw hasStarted ? new UnavailableError(text, options) : new SandboxGoneError(text, options);
}

/** Null: it is gone; undefined: the API server does not say. */
async function findPod(api: Pick<PodsApi, 'get'>, { name, uid }: RunningPod): Promise<Pod | null | undefined> {
  try {
    const found = await api.get(name);
    return found?.metadata.uid === uid ? found : null;
  } catch (error) {
    if (error instanceof ApiFailure) return undefined;
    throw error;
  }
}

function whyEnded(pod: Pod | null): string | undefined {
  if (pod === null) return 'the pod of the sandbox was deleted';
  const state = stateOf(pod);
  return state.kind === 'ended' ? state.why : undefined;
}
