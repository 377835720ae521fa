import type { ThreadKey } from '@caribou/core';
import type { SlotLimits, TaskSlot } from '@caribou/state';
import type { Executed } from '../virtual/network.js';
import type { SimProcess } from '../virtual/scheduler.js';
import { LEASE_MS, PROCESS_LEASE_MS } from './clocks.js';

interface HeldSlot {
  readonly process: SimProcess;
  /** End of its lease, by the clock of the store. */
  readonly untilMs: number;
}

/** Tracks the holders of slots, from the replies and the clock of the store alone. */
export class SlotWatch {
  private readonly held = new Map<string, HeldSlot>();
  /** Ends of the leases of processes. */
  private readonly processes = new Map<SimProcess, number>();
  private readonly over = new Set<string>();
  readonly violations: string[] = [];
  taken = 0;

  constructor(private readonly limits: SlotLimits) {}

  /** A command on the slots was executed. */
  recordExecuted({ process, operation, args, reply, wallMs }: Executed): void {
    const [outcome, member] = reply as readonly unknown[];
    if (operation === 'slots.acquire') this.shorten(wallMs);
    if (operation === 'slots.acquire' && outcome === 'slot') this.take(process, String(member), wallMs);
    if (outcome !== 'ok') return;
    const task = nameOf(args[0] as TaskSlot);
    // A renewal may arrive after the task's end: then it prolongs nothing that counts.
    if (operation === 'slots.renew' && !this.over.has(task))
      this.held.set(task, { process, untilMs: wallMs + LEASE_MS });
    if (operation === 'slots.release') this.held.delete(task);
  }

  /** The lease of a process was renewed, and those that a clock which went back would prolong are shortened. */
  recordRenewed({ process, wallMs }: Executed): void {
    const latestMs = wallMs + PROCESS_LEASE_MS;
    for (const [other, untilMs] of this.processes) this.processes.set(other, Math.min(untilMs, latestMs));
    this.processes.set(process, latestMs);
  }

  /** The task has ended: it has no slot. */
  recordEnded(task: ThreadKey): void {
    this.over.add(nameOf(task));
    this.held.delete(nameOf(task));
  }

  /** A clock that went back prolongs no lease beyond its full length, counted from the next time a slot is asked for. */
  private shorten(wallMs: number): void {
    for (const [task, { process, untilMs }] of this.held)
      this.held.set(task, { process, untilMs: Math.min(untilMs, wallMs + LEASE_MS) });
  }

  private take(taker: SimProcess, member: string, wallMs: number): void {
    this.taken += 1;
    const isAlive = (process: SimProcess): boolean => (this.processes.get(process) ?? 0) > wallMs;
    const live = [...this.held]
      .filter(([, { process, untilMs }]) => untilMs > wallMs && isAlive(process))
      .map(([task]) => task);
    if (live.includes(member)) this.violations.push(`the slot of task ${member} was given away while it was held`);
    const running = [...live.filter((task) => task !== member), member];
    this.held.set(member, { process: taker, untilMs: wallMs + LEASE_MS });
    if (!isAlive(taker)) this.processes.set(taker, wallMs + PROCESS_LEASE_MS);
    const ofUser = running.filter((task) => userOf(task) === userOf(member)).length;
    if (running.length > this.limits.maxRunning)
      this.violations.push(`${running.length} tasks hold a slot, where ${this.limits.maxRunning} may`);
    if (ofUser > this.limits.maxRunningPerUser)
      this.violations.push(`${ofUser} tasks of a user hold a slot, where ${this.limits.maxRunningPerUser} may`);
  }
}

const nameOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;
const userOf = (task: string): string => task.slice(0, task.indexOf('/'));
