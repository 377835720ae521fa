import type { SandboxDriver } from '@caribou/sandbox';

export const REPLACED =
  '[the sandbox had gone away and was made anew: what was in /tmp or still running in it is lost]\n';

/**
 * The driver for one box, whose first result after the box was replaced says so on stderr. `wasReplaced` answers true
 * once per replacement.
 */
export function tellingOfReplacement(driver: SandboxDriver, wasReplaced: () => boolean): BoxDriver {
  return {
    kind: driver.kind,
    create: (box, options) => driver.create(box, options),
    remove: (box) => driver.remove(box),
    isAlive: (box) => driver.isAlive(box),
    exec: async (box, command, signal) => {
      const result = await driver.exec(box, command, signal);
      return wasReplaced() ? { ...result, stderr: REPLACED + result.stderr } : result;
    },
  };
}

/** What is asked of a driver for a box that is held. */
export type BoxDriver = Pick<SandboxDriver, 'kind' | 'create' | 'exec' | 'remove' | 'isAlive'>;
