import type { SandboxDriver } from '@caribou/sandbox';

export const REPLACED =
  '[the sandbox had gone away and was made anew: what was in /tmp or still running in it is lost]\n';

/**
 * The driver for one sandbox, whose first result after the sandbox was replaced says so on stderr. `wasReplaced`
 * answers true once per replacement.
 */
export function withReplacementNotice(driver: SandboxDriver, wasReplaced: () => boolean): ManagedDriver {
  return {
    kind: driver.kind,
    create: (sandbox, options) => driver.create(sandbox, options),
    remove: (sandbox) => driver.remove(sandbox),
    isAlive: (sandbox) => driver.isAlive(sandbox),
    exec: async (sandbox, command, signal) => {
      const result = await driver.exec(sandbox, command, signal);
      return wasReplaced() ? { ...result, stderr: REPLACED + result.stderr } : result;
    },
  };
}

/** What is asked of a driver for a sandbox that is held. */
export type ManagedDriver = Pick<SandboxDriver, 'kind' | 'create' | 'exec' | 'remove' | 'isAlive'>;
