import { FleetInfo, type FleetReply, type ProcessInfo, serviceNames, UnavailableError } from '@caribou/contracts';
import type { ProcessLeaseState, readProcessLeases } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency, type GatewayBus } from '../dependency.js';

/** Maximum number of processes that one answer lists. */
const MAX_PROCESSES = 500;

type Leases = Awaited<ReturnType<typeof readProcessLeases>>;
type ReadLeases = () => Promise<Leases>;

/** Something that was asked for, or why it could not be. */
export type Asked<T> = { readonly value: T } | { readonly reason: string };

/** Waits for the answer of a dependency that may be away. */
export async function asked<T>(answer: Promise<T>): Promise<Asked<T>> {
  try {
    return { value: await answer };
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return { reason: error.message };
  }
}

export const reachable = (answer: Asked<unknown>) =>
  'reason' in answer ? { reachable: false, reason: answer.reason } : { reachable: true };

/** Finds out which processes there are: those that answer, and those that only have a lease. */
@Injectable()
export class FleetService {
  constructor(
    @Dependency('bus') private readonly bus: Pick<GatewayBus, 'askAll'>,
    @Dependency('processLeases') private readonly readLeases: ReadLeases,
  ) {}

  async read(): Promise<FleetReply> {
    const [answers, leases] = await Promise.all([
      asked(this.bus.askAll(FleetInfo, {}, { maxReplies: MAX_PROCESSES })),
      asked(this.readLeases()),
    ]);
    const processes = 'value' in answers ? [...answers.value.replies].sort(byServiceAndStart) : [];
    const silent = 'value' in leases ? await this.confirmSilent(withoutThose(leases.value.leases, processes)) : [];
    return {
      at: new Date().toISOString(),
      processes,
      silent: silent.map(({ service, processId, renewedMsAgo, held }) => ({
        service,
        id: processId,
        renewed_ms_ago: renewedMsAgo,
        lease: held ? 'held' : 'lapsed',
      })),
      is_cut: ('value' in answers && answers.value.isCut) || ('value' in leases && leases.value.isCut),
      nats: reachable(answers),
      redis: reachable(leases),
    };
  }

  /** Ids of managers with a lease that are not among those that answered. */
  async silentManagers(answered: ReadonlySet<string>): Promise<readonly string[]> {
    const leases = await asked(this.readLeases());
    if (!('value' in leases)) return [];
    const managers = leases.value.leases.filter(({ service, held }) => service === 'sandbox-manager' && held);
    return managers.map(({ processId }) => processId).filter((id) => !answered.has(id));
  }

  /** Those that have a lease still: a process that has ended orderly since the question is not silent. */
  private async confirmSilent(candidates: readonly ProcessLeaseState[]): Promise<readonly ProcessLeaseState[]> {
    if (candidates.length === 0) return [];
    const again = await asked(this.readLeases());
    if (!('value' in again)) return candidates;
    const now = new Map(again.value.leases.map((lease) => [lease.processId, lease]));
    return candidates.flatMap(({ processId }) => now.get(processId) ?? []);
  }
}

function withoutThose(
  leases: readonly ProcessLeaseState[],
  processes: readonly ProcessInfo[],
): readonly ProcessLeaseState[] {
  const answered = new Set(processes.map(({ id }) => id));
  return leases.filter(({ processId }) => !answered.has(processId));
}

const byServiceAndStart = (left: ProcessInfo, right: ProcessInfo): number =>
  serviceNames.indexOf(left.service) - serviceNames.indexOf(right.service) ||
  left.started_at.localeCompare(right.started_at) ||
  left.id.localeCompare(right.id);
