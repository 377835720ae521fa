import type { FleetReply, ProcessInfo, SilentProcess } from '@caribou/contracts';

type Service = ProcessInfo['service'];

/** A process that answered, or one that only has a lease. `unknown`: nobody could be asked. */
export type FleetRow =
  | { readonly kind: ProcessInfo['state']; readonly id: string; readonly process: ProcessInfo }
  | { readonly kind: 'silent' | 'lapsed' | 'unknown'; readonly id: string; readonly silent: SilentProcess };

export interface ServiceRows {
  readonly service: Service;
  readonly rows: readonly FleetRow[];
}

/** The services in the order of a run. */
const SERVICES: readonly Service[] = ['gateway', 'agent-runner', 'subagent-pool', 'sandbox-manager', 'memory-worker'];

/** What needs attention comes first. */
const ORDER: readonly FleetRow['kind'][] = ['silent', 'lapsed', 'unknown', 'draining', 'degraded', 'ready'];

/** The processes of each service, silent and draining ones first, then by their start. */
export function fleetRows({ processes, silent, nats }: FleetReply): readonly ServiceRows[] {
  const rows: readonly { readonly service: Service; readonly row: FleetRow }[] = [
    ...silent.map((one) => ({ service: one.service, row: silentRow(one, nats.reachable) })),
    ...processes.map((process) => ({
      service: process.service,
      row: { kind: process.state, id: process.id, process },
    })),
  ];
  return SERVICES.map((service) => ({
    service,
    rows: rows
      .filter((each) => each.service === service)
      .map(({ row }) => row)
      .sort((left, right) => ORDER.indexOf(left.kind) - ORDER.indexOf(right.kind)),
  }));
}

const silentRow = (silent: SilentProcess, isAsked: boolean): FleetRow => ({
  kind: silent.lease === 'lapsed' ? 'lapsed' : isAsked ? 'silent' : 'unknown',
  id: silent.id,
  silent,
});

/** Whether nobody can do the work of this service. Memory extraction may be disabled, so its absence is no fault. */
export const lacksProcesses = ({ service, rows }: ServiceRows): boolean =>
  service !== 'memory-worker' && !rows.some(({ kind }) => kind === 'ready' || kind === 'degraded');
