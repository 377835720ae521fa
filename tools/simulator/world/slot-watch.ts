import type { ThreadKey } from '@caribou/core';
import type { SlotLimits, TaskSlot } from '@caribou/state';
import type { Executed } from '../virtual/network.js';
import { LEASE_MS } from './clocks.js';

/** Tracks the holders of slots, from the replies and the clock of the store alone. */
export class SlotWatch {
  /** Ends of the leases, by task. */
  private readonly held = new Map<string, number>();
  private readonly over = new Set<string>();
  readonly violations: string[] = [];
  taken = 0;

  constructor(private readonly limits: SlotLimits) {}

  /** A command on the slots was executed. */
  recordExecuted({ operation, args, reply, wallMs }: Executed): void {
    const [outcome, member] = reply as readonly unknown[];
    if (operation === 'slots.acquire') this.shorten(wallMs);
    if (operation === 'slots.acquire' && outcome === 'slot') this.take(String(member), wallMs);
    if (outcome !== 'ok') return;
    const task = nameOf(args[0] as TaskSlot);
    // A renewal may arrive after the task's end: then it prolongs nothing that counts.
    if (operation === 'slots.renew' && !this.over.has(task)) this.held.set(task, wallMs + LEASE_MS);
    if (operation === 'slots.release') this.held.delete(task);
  }

  /** The task has ended: it has no slot. */
  recordEnded(task: ThreadKey): void {
    this.over.add(nameOf(task));
    this.held.delete(nameOf(task));
  }

  /** A clock that went back prolongs no lease beyond its full length, counted from the next time a slot is asked for. */
  private shorten(wallMs: number): void {
    for (const [task, untilMs] of this.held) this.held.set(task, Math.min(untilMs, wallMs + LEASE_MS));
  }

  private take(member: string, wallMs: number): void {
    this.taken += 1;
    const live = [...this.held].filter(([, untilMs]) => untilMs > wallMs).map(([task]) => task);
    if (live.includes(member)) this.violations.push(`the slot of task ${member} was given away while it was held`);
    const running = [...live.filter((task) => task !== member), member];
    this.held.set(member, wallMs + LEASE_MS);
    const ofUser = running.filter((task) => userOf(task) === userOf(member)).length;
    if (running.length > this.limits.maxRunning)
      this.violations.push(`${running.length} tasks hold a slot, where ${this.limits.maxRunning} may`);
    if (ofUser > this.limits.maxRunningPerUser)
      this.violations.push(`${ofUser} tasks of a user hold a slot, where ${this.limits.maxRunningPerUser} may`);
  }
}

const nameOf = ({ userId, threadId }: ThreadKey): string => `${userId}/${threadId}`;
const userOf = (task: string): string => task.slice(0, task.indexOf('/'));
