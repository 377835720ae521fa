import { readdirSync } from 'node:fs';
import { errnoOf } from '@caribou/core';
import { isRunning, identifyProcess, type ProcessIdentity, processStat } from './bwrap-host.js';

/**
 * A launch leads a process group of its own, and everything of bwrap stays in it: the process that waits outside, and
 * PID 1 of the sandbox, with which the kernel ends whatever runs in the sandbox. bwrap ties the two to each other only
 * late in its start: when the outer one is killed before that, the other survives and waits for it for ever or runs the
 * command, which no process would end. The group has both at any moment.
 */

/** The program name of members once the leader has ended: the command itself has left the group. */
const PROGRAM = 'bwrap';

/** The members of the group that run; none when its number belongs to another process by now. */
export function groupMembers(leader: ProcessIdentity): ProcessIdentity[] {
  const stat = processStat(leader.pid);
  if (stat !== null && stat.startTicks !== leader.startTicks) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      const member = processStat(Number(name));
      return member?.group === leader.pid && (stat !== null || member.program === PROGRAM);
    })
    .map((name) => identifyProcess(Number(name)))
    .filter((mark) => mark !== null)
    .filter(isRunning);
}

/** Kills every member of the group at once, whatever they are about to start; nothing when none is left. */
export function killGroup(leader: ProcessIdentity): void {
  const stat = processStat(leader.pid);
  const isOurs = stat === null ? groupMembers(leader).length > 0 : stat.startTicks === leader.startTicks;
  if (!isOurs) return;
  try {
    process.kill(-leader.pid, 'SIGKILL');
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error;
  }
}
