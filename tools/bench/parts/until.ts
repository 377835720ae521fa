import { setTimeout as sleep } from 'node:timers/promises';

export const WAIT_MS = 30_000;

/** Polls until the condition holds. @throws Error that names `what` after 30 s */
export async function until(isReached: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS;
  while (!(await isReached())) {
    if (performance.now() > deadlineMs) throw new Error(`waited ${WAIT_MS} ms in vain for ${what}`);
    await sleep(5);
  }
}
