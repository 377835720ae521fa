import { randomUUID } from 'node:crypto';
import { readAgentEnvironment } from '@caribou/config';
import { AGENT_PROTOCOL_VERSION, type AgentHealth } from '@caribou/contracts';
import { ExecService, toAppError } from './exec-service.js';
import { Lease } from './http/lease.js';
import { startServer } from './http/server.js';
import { ProcessOne } from './process/process-one.js';

/** Time after which it is looked whether anybody still asks, in milliseconds. */
const ORPHAN_CHECKS = 10;

/**
 * Process 1 of a sandbox pod: runs the commands of the manager that has the token, and exchanges files with it.
 *
 * @throws {Error} with what has to change, when it cannot begin
 */
async function main(): Promise<void> {
  const environment = readAgentEnvironment();
  const one = ProcessOne.begin(__dirname);
  const instance = randomUUID();
  const lease = new Lease(() => service.end());
  const service = new ExecService(one, environment, () => lease.leftMs > 0);
  let lastRequestMs = performance.now();
  const health = (): AgentHealth => ({
    version: AGENT_PROTOCOL_VERSION,
    instance,
    leaseMs: Math.round(lease.leftMs),
    ...service.state,
  });
  await startServer(environment, {
    health,
    lease: (leaseMs) => {
      lease.hold(leaseMs);
      return health();
    },
    kill: (id) => ({ ended: service.end(id) }),
    exec: (request, response) => service.exec(request, response),
    pull: (request, response) => service.pull(request, response),
    toAppError,
    onRequest: () => {
      lastRequestMs = performance.now();
    },
  });
  const { orphanMs } = environment;
  setInterval(() => {
    const isIdle = service.state.running === null && performance.now() - lastRequestMs > orphanMs;
    // The kernel ends everything else in the pod with process 1.
    if (isIdle) process.exit(0);
  }, orphanMs / ORPHAN_CHECKS);
}

main().catch((error: unknown) => {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}${cause}\n`);
  process.exit(1);
});
