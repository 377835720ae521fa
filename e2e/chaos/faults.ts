import { setTimeout as sleep } from 'node:timers/promises';
import type { TestServer } from '@caribou/testing';
import type { Stack } from '../support/stack.js';
import type { Member } from './fleet.js';
import type { Fault, ServerName } from './plan.js';

/** The faults that were injected. */
export interface FaultCounts {
  kills: number;
  pauses: number;
  restarts: number;
  cuts: number;
  /** Kills of the object store, which are among `kills` too. */
  storeKills: number;
}

export type TestServers = Pick<Stack, ServerName> & {
  /** The object store, if there is one. */
  readonly objects?: TestServer;
};

export interface FaultPorts {
  readonly servers: TestServers;
  readonly fleet: readonly Member[];
  readonly counts: FaultCounts;
  readonly incident: (what: string) => void;
  /** The time limit of a graceful end. */
  readonly drainMs: number;
}

/** Injects planned faults at their times. Resolves when the last has ended and everything runs again. */
export async function applyFaults(faults: readonly Fault[], ports: FaultPorts): Promise<void> {
  const startMs = performance.now();
  const busyServers = new Set<keyof TestServers>();
  const running: Promise<void>[] = [];
  for (const fault of faults) {
    await sleep(Math.max(0, startMs + fault.atMs - performance.now()));
    running.push('app' in fault ? onMember(fault, ports) : onServer(fault, ports, busyServers));
  }
  await Promise.all(running);
}

type MemberFault = Extract<Fault, { app: unknown }>;

async function onMember(fault: MemberFault, ports: FaultPorts): Promise<void> {
  const member = ports.fleet.find(({ app, index }) => app === fault.app && index === fault.index);
  if (member === undefined || member.busy) return;
  member.busy = true;
  try {
    await reviveCrashed(member, ports);
    if (fault.kind === 'cut' || fault.kind === 'silence') await onLink(fault, member, ports.counts);
    else await onProcess(fault, member, ports);
  } catch (error) {
    ports.incident(`${fault.kind} of ${fault.app} ${fault.index}: ${String(error)}`);
  } finally {
    member.busy = false;
  }
}

/** A service that ended by itself is an incident, and is restarted so that the test can continue. */
export async function reviveCrashed(member: Member, ports: Pick<FaultPorts, 'incident'>): Promise<void> {
  if (!member.hasCrashed) return;
  ports.incident(`${member.app} ${member.index} ended by itself: ${member.service?.output().slice(-1_500) ?? ''}`);
  await member.start();
}

async function onProcess(fault: Fault, member: Member, { counts, drainMs }: FaultPorts): Promise<void> {
  if (fault.kind === 'pause') {
    counts.pauses += 1;
    member.service?.pause();
    await sleep(fault.forMs);
    member.service?.resume();
    return;
  }
  if (fault.kind === 'kill') {
    counts.kills += 1;
    await member.kill();
    await sleep(fault.forMs);
  } else {
    counts.restarts += 1;
    await member.terminate(drainMs);
  }
  await member.start();
}

async function onLink(fault: Fault & { server: ServerName }, member: Member, counts: FaultCounts): Promise<void> {
  const link = member.links[fault.server];
  counts.cuts += 1;
  if (fault.kind === 'cut') {
    link.refuse();
    link.cut();
    await sleep(fault.forMs);
    link.accept();
    return;
  }
  const holds = [link.hold('request'), link.hold('reply')];
  await sleep(fault.forMs);
  for (const hold of holds) hold.release();
}

async function onServer(
  { kind, server, forMs }: Extract<Fault, { server: unknown }>,
  { servers, counts, incident }: FaultPorts,
  busy: Set<keyof TestServers>,
): Promise<void> {
  const target = servers[server];
  if (target === undefined || (server !== 'objects' && busy.has(server))) return;
  // None of the planned kills of the store is left out: a restart may take long on a busy machine.
  while (busy.has(server)) await sleep(50);
  busy.add(server);
  try {
    if (kind === 'pause') {
      counts.pauses += 1;
      target.pause();
      await sleep(forMs);
      target.resume();
    } else {
      counts.kills += 1;
      if (server === 'objects') counts.storeKills += 1;
      await target.kill9();
      await sleep(forMs);
      await target.restart();
    }
  } catch (error) {
    incident(`${kind} of ${server}: ${String(error)}`);
  } finally {
    busy.delete(server);
  }
}
