import type { Config } from '@caribou/config';
import { addressPolicy, EgressProxy, parseEgressRule } from '@caribou/egress';
import type { SandboxNetwork } from '@caribou/sandbox';
import type { EgressTrail } from './egress-trail.js';

export interface SandboxEgress {
  readonly network: SandboxNetwork;
  /** Ends every connection. */
  close(): void;
}

/**
 * The egress proxy for sandboxes, or undefined when the configuration allows no connections.
 *
 * @throws {InvalidRequestError} when a rule or an address range is malformed
 */
export function createSandboxEgress(
  { allow, allowPrivate }: Config['sandbox']['network'],
  trail: Pick<EgressTrail, 'record'>,
): SandboxEgress | undefined {
  if (allow.length === 0) return undefined;
  const proxy = new EgressProxy({ rules: allow.map(parseEgressRule), isAllowedAddress: addressPolicy(allowPrivate) });
  return {
    network: {
      serve: (socket, sandbox) =>
        proxy.serve(socket, { id: sandbox.sandboxId, onEnd: (entry) => trail.record(sandbox, entry) }),
    },
    close: () => proxy.close(),
  };
}
