import { type TestService, waitFor } from '@caribou/testing';
import type { Stack } from './stack.js';

/**
 * Starts a gateway, two runners and a sandbox-manager of a stack that has none yet, with addresses of servers of the test's own.
 *
 * @returns the gateway, and whether a turn can run now
 */
export async function startWith(
  stack: Stack,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly gateway: TestService; readonly isReady: () => Promise<boolean> }> {
  const [gateway] = await Promise.all([
    stack.start('gateway', env),
    stack.start('agent-runner', env),
    stack.start('agent-runner', env),
    stack.start('sandbox-manager', env),
  ]);
  const isReady = async (): Promise<boolean> => (await gateway.ready()).ok;
  await waitFor(isReady, { what: 'the system', timeoutMs: 60_000, everyMs: 200 });
  return { gateway, isReady };
}
