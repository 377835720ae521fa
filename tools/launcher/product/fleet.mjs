import { ManagedProcess } from '../processes/managed-process.mjs';
import { findProgram } from '../machine/programs.mjs';
import { repository } from '../repository.mjs';

const stopTimeoutMs = 8_000;

/**
 * @typedef {Pick<import('../processes/managed-process.mjs').ProcessPlan, 'name' | 'file' | 'args' | 'untilReady' | 'readyTimeoutMs' | 'quiet' | 'ipc'>} Plan
 * @typedef {'server' | 'service'} Role
 *
 * @typedef {object} Fleet
 * @property {(plan: Plan, options: { role: Role, env: NodeJS.ProcessEnv, signal: AbortSignal }) => Promise<void>} start resolves when ready
 * @property {() => Promise<void>} stop ends the services first, then the servers they need; never rejects
 */

/**
 * All processes of one launcher, and the record of them that the next launcher reads.
 *
 * @param {{ path: string, record: (children: import('../processes/data-folder.mjs').Child[]) => void }} options
 * @returns {Fleet}
 */
export function createFleet({ path, record }) {
  /** @type {{ role: Role, process: ManagedProcess }[]} */
  const members = [];
  const setpriv = findProgram('setpriv', path);
  const onChange = () => record(members.flatMap(({ process }) => process.running() ?? []));

  /** @param {Role} role */
  const stopRole = (role) =>
    Promise.all(members.filter((member) => member.role === role).map(({ process }) => process.stop(stopTimeoutMs)));

  return {
    start: (plan, { role, env, signal }) => {
      const process = new ManagedProcess({ ...plan, env, cwd: repository, setpriv, onChange });
      members.push({ role, process });
      return process.start(signal);
    },
    stop: async () => {
      await stopRole('service');
      await stopRole('server');
    },
  };
}
