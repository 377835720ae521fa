import type { SandboxDriver } from '@caribou/sandbox';

export const REPLACEMENT_NOTICE =
  '[the sandbox had gone away and was made anew: what was in /tmp or still running in it is lost]\n';

/**
 * Wraps the driver for one sandbox: the first command result after the sandbox was replaced reports that on stderr.
 * `wasReplaced` returns true once for each replacement.
 */
export function withReplacementNotice(driver: SandboxDriver, wasReplaced: () => boolean): ManagedDriver {
  return {
    kind: driver.kind,
    create: (sandbox, options) => driver.create(sandbox, options),
    remove: (sandbox) => driver.remove(sandbox),
    isAlive: (sandbox) => driver.isAlive(sandbox),
    domain: () => driver.domain(),
    exec: async (sandbox, command, signal) => {
      const result = await driver.exec(sandbox, command, signal);
      return wasReplaced() ? { ...result, stderr: REPLACEMENT_NOTICE + result.stderr } : result;
    },
  };
}

/** The methods of a driver that the pool uses for a sandbox that it holds. */
export type ManagedDriver = Pick<SandboxDriver, 'kind' | 'create' | 'exec' | 'remove' | 'isAlive' | 'domain'>;
