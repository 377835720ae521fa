import type { Fleet } from '../fleet.js';
import { WAIT_MS } from '../parts/until.js';

const control = (fleet: Fleet, path: string): string => `${new URL(fleet.modelUrl).origin}/control/${path}`;

/** How many calls of the scripted model wait to be answered. */
export async function waitingCalls(fleet: Fleet): Promise<number> {
  const response = await fetch(control(fleet, 'holding'), { signal: AbortSignal.timeout(WAIT_MS) });
  return ((await response.json()) as readonly unknown[]).length;
}

/** Answers all calls that wait, and forgets which were made before. */
export async function releaseCalls(fleet: Fleet): Promise<void> {
  const response = await fetch(control(fleet, 'reset'), { method: 'POST', signal: AbortSignal.timeout(WAIT_MS) });
  await response.text();
}
