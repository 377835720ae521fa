import { UnavailableError } from '@caribou/contracts';
import { SandboxGoneError } from '@caribou/sandbox';
import type { Execution } from './execution.js';
import type { ManagedSandbox } from './managed-sandbox.js';
import type { SandboxPool } from './sandbox-pool.js';

/**
 * Runs a job. If its sandbox had disappeared, nothing has begun: the sandbox is created again, once.
 *
 * @throws {SandboxGoneError} when it cannot be created again
 */
export async function runWhenReady<Reply>(
  job: Execution<Reply>,
  {
    pool,
    sandbox,
    signal,
  }: { readonly pool: SandboxPool; readonly sandbox: ManagedSandbox; readonly signal: AbortSignal },
): Promise<Reply> {
  const before = sandbox.readiness;
  try {
    return await job.run(sandbox, signal);
  } catch (error) {
    if (!(error instanceof SandboxGoneError)) throw error;
  }
  await replace(pool, sandbox, before);
  return job.run(sandbox, signal);
}

async function replace(pool: SandboxPool, sandbox: ManagedSandbox, before: ManagedSandbox['readiness']): Promise<void> {
  try {
    await pool.replace(sandbox, before);
  } catch (error) {
    if (error instanceof UnavailableError)
      throw new SandboxGoneError(error.message, { cause: error, details: error.details });
    throw error;
  }
}
