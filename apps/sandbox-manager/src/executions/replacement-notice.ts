import type { SandboxDriver } from '@caribou/sandbox';

export const REPLACEMENT_NOTICE =
  '[the sandbox had gone away and was made anew: what was in /tmp or still running in it is lost]\n';

/**
 * Wraps the driver for one sandbox: the next command result reports on stderr what happened to the sandbox or its files since the last
 * one. `takeNotices` returns each text once.
 */
export function withNotices(driver: SandboxDriver, takeNotices: () => string): ManagedDriver {
  return {
    kind: driver.kind,
    create: (sandbox, options) => driver.create(sandbox, options),
    remove: (sandbox) => driver.remove(sandbox),
    isAlive: (sandbox) => driver.isAlive(sandbox),
    domain: () => driver.domain(),
    exec: async (sandbox, command, signal) => {
      const result = await driver.exec(sandbox, command, signal);
      const notices = takeNotices();
      return notices === '' ? result : { ...result, stderr: notices + result.stderr };
    },
  };
}

/** The methods of a driver that the pool uses for a sandbox that it holds. */
export type ManagedDriver = Pick<SandboxDriver, 'kind' | 'create' | 'exec' | 'remove' | 'isAlive' | 'domain'>;
