import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { UnavailableError } from '@caribou/contracts';
import { errnoOf } from '@caribou/core';
import type { ProcessOne } from './process-one.js';

/** Processes that are killed are gone within this time; one that waits for a device that does not answer is not. */
const GIVE_UP_MS = 10_000;
/** Rounds without a pause: the kernel needs a moment. */
const QUICK_ROUNDS = 20;
const PAUSE_MS = 2;

const isProcess = /^[1-9][0-9]*$/;

/** Numbers of the sandbox's processes besides this one, those that are dead and not yet reaped among them. */
export const otherProcesses = (): string[] =>
  readdirSync('/proc').filter((name) => isProcess.test(name) && name !== '1');

/**
 * Ends every process of the sandbox but this one. The kernel signals all of them in one step, those that are just being started too, so no
 * command escapes by starting others faster than they are ended; a stopped one ends as well.
 *
 * @throws {UnavailableError} when something still lives after ten seconds: nothing may be started then
 */
export async function endAll(one: ProcessOne): Promise<void> {
  if (process.pid !== 1) throw new Error('only process 1 of a sandbox may end all others');
  const startedMs = performance.now();
  for (let round = 0; ; round += 1) {
    one.reap();
    if (otherProcesses().length === 0) return;
    killAll();
    if (performance.now() - startedMs > GIVE_UP_MS)
      throw new UnavailableError('a process of the sandbox does not end', { details: { dependency: 'sandbox' } });
    await sleep(round < QUICK_ROUNDS ? 0 : PAUSE_MS);
  }
}

function killAll(): void {
  try {
    process.kill(-1, 'SIGKILL');
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error;
  }
}
