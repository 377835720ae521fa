import { availableParallelism } from 'node:os';
import type { CpuByProcess } from './cpu-time.js';
import type { ChainCost } from './parts/chain-cost.js';
import type { IdleCost } from './parts/idle-threads.js';
import type { LoadResult } from './load.js';
import type { TurnCost, ValuesCost } from './parts/long-thread.js';
import type { PromptMemoryCost } from './parts/prompt-memory.js';
import type { SandboxCost, Spread } from './parts/sandbox-cost.js';
import { sum } from './sample.js';
import type { DispatchCost, TaskLoad } from './parts/task-dispatch.js';

/** A figure and its limit. */
export interface Budget {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly atMost: number;
  /** Whether the bench fails when it is missed; the others depend on the machine. */
  readonly isRequired?: boolean;
}

export const say = (line = ''): void => void process.stdout.write(`${line}\n`);

const fixed = (value: number, digits = 1): string => value.toFixed(digits);
const kibibytes = (bytes: number): string => fixed(bytes / 1024);
const SERVERS = ['redis', 'nats'];

/** CPU of the services alone, or of the floor: Redis and NATS are left out. */
export const ownCpuMsOf = ({ cpu }: LoadResult): number =>
  sum(Object.entries(cpu).flatMap(([name, ms]) => (SERVERS.includes(name) ? [] : [ms])));

export function sayMachine(): void {
  say(`${availableParallelism()} cores, Node ${process.versions.node}, everything on this machine over loopback`);
}

export function sayLoads(results: readonly LoadResult[]): void {
  say();
  say('                     at      CPU ms per turn      turns      first token ms     whole turn ms');
  say('                   once   own   +redis +nats   per second      p50 / p99         p50 / p99');
  for (const result of results) say(loadRow(result));
}

function loadRow(result: LoadResult): string {
  const { name, concurrency, cpu, turnsPerSecond, firstTokenMs, totalMs } = result;
  return [
    name.padEnd(18),
    String(concurrency).padStart(4),
    fixed(ownCpuMsOf(result), 2).padStart(7),
    fixed(sum(Object.values(cpu)), 2).padStart(11),
    fixed(turnsPerSecond).padStart(13),
    `${fixed(firstTokenMs.p50)} / ${fixed(firstTokenMs.p99)}`.padStart(18),
    `${fixed(totalMs.p50)} / ${fixed(totalMs.p99)}`.padStart(18),
  ].join(' ');
}

/** CPU by process, largest first. */
export function sayShares(what: string, cpu: CpuByProcess): void {
  const shares = Object.entries(cpu).sort((a, b) => b[1] - a[1]);
  say(`${what}: ${shares.map(([name, ms]) => `${name} ${fixed(ms, 2)}`).join(', ')}`);
}

export function sayTurn(turn: number, cost: TurnCost): void {
  const { redisBytes, natsBytes, totalMs, floorMs } = cost;
  const added = `${fixed(totalMs)} ms, of which the floor needs ${fixed(floorMs)}`;
  say(`turn ${String(turn).padEnd(4)} Redis ${kibibytes(redisBytes)} KiB, NATS ${kibibytes(natsBytes)} KiB, ${added}`);
}

export function sayValues(cost: ValuesCost): void {
  const { messages, valuesBytes, stateMs, coldJoinMs, warmJoinMs, turnMs } = cost;
  const join = `join with values ${fixed(coldJoinMs)} ms cold, ${fixed(warmJoinMs)} ms warm`;
  say(
    `${String(messages).padStart(4)} messages (${kibibytes(valuesBytes)} KiB): ${join}; state ${fixed(stateMs)} ms; turn with values ${fixed(turnMs)} ms`,
  );
}

export function saySandbox(cost: SandboxCost): void {
  const row = (what: string, { p50, p99 }: Spread): void =>
    say(`  ${what.padEnd(34)} p50 ${fixed(p50).padStart(7)} ms, p99 ${fixed(p99).padStart(7)} ms`);
  row('acquire, cold', cost.coldAcquire);
  row('acquire, warm', cost.warmAcquire);
  row('exec of true, the driver alone', cost.driverExec);
  row('exec of true, sandbox-manager', cost.managerExec);
  row('write of 1 MiB', cost.write);
  row('read of 1 MiB, in four replies', cost.read);
  const { sandboxes, totalMs, failures } = cost.crowd;
  say(
    `  ${sandboxes} new sandboxes at once: a command has run in each after ${fixed(totalMs, 0)} ms, ${failures} failed`,
  );
}

export function sayChain(cost: ChainCost): void {
  const { middlewares, bareMicros, trivialMicros, ownMicros, bareTurns, ownTurns } = cost;
  say();
  say('The chain in one process, a model that answers at once, nothing stored');
  say(
    `a turn without middlewares: ${fixed(bareMicros)} µs; ${middlewares} of them with six trivial hooks add ${fixed(trivialMicros)} µs, our own with everything on ${fixed(ownMicros)} µs`,
  );
  say(`turns per second of this loop alone: ${fixed(bareTurns, 0)} without, ${fixed(ownTurns, 0)} with our own`);
}

export function sayTasks(cost: DispatchCost, loads: readonly TaskLoad[], tasks: number): void {
  const row = (what: string, { p50, p99 }: DispatchCost['startedMs']): void =>
    say(`  ${what.padEnd(34)} p50 ${fixed(p50).padStart(7)} ms, p99 ${fixed(p99).padStart(7)} ms`);
  say();
  say('Tasks of subagents, from the answer that hands one over');
  row('to its start in a pool', cost.startedMs);
  row('to its result in the thread', cost.answeredMs);
  for (const { pools, workMs, totalMs } of loads) {
    const rate = fixed((1_000 * tasks) / totalMs);
    say(
      `  ${tasks} tasks, a model that takes ${workMs} ms, ${pools} pools: ${fixed(totalMs, 0)} ms (${rate} a second)`,
    );
  }
}

export function sayPromptMemory({ tokenizerMs, tokenizerBytes, memories }: PromptMemoryCost): void {
  say();
  say(`Memory in the prompt: tokenizer ${fixed(tokenizerMs)} ms and ${fixed(tokenizerBytes / 1024 ** 2)} MiB, once`);
  for (const { facts, chars, readMs, textMs } of memories)
    say(
      `${String(facts).padStart(4)} facts: read ${fixed(readMs, 2)} ms per run; ${chars} characters of text ${fixed(textMs, 2)} ms, once per change`,
    );
}

export function sayIdle({ threads, before, after, cpuMsPerThread }: IdleCost): void {
  const mebibytes = (bytes: number): string => fixed(bytes / 1024 / 1024);
  const growth = (of: 'residentBytes' | 'retainedBytes'): string =>
    Object.entries(after[of])
      .map(([name, bytes]) => `${name} ${mebibytes(before[of][name] ?? 0)} → ${mebibytes(bytes)}`)
      .join(', ');
  const redis = (after.redisMemoryBytes - before.redisMemoryBytes) / threads;
  say(`creating one: ${fixed(cpuMsPerThread, 2)} ms of CPU; it takes ${kibibytes(redis)} KiB in Redis`);
  say(`in use after a collection, MiB: ${growth('retainedBytes')}`);
  say(`resident before it, MiB: ${growth('residentBytes')}`);
  say(`subscriptions: ${before.subscriptions} → ${after.subscriptions}`);
  say(`CPU of all services at rest, ms per second: ${fixed(before.cpuMsPerSecond)} → ${fixed(after.cpuMsPerSecond)}`);
}

/** Prints the budgets one by one. */
export function sayBudgets(budgets: readonly Budget[]): void {
  say();
  say('Budgets');
  for (const { what, value, unit, atMost } of budgets) {
    const verdict = value <= atMost ? 'met   ' : 'MISSED';
    say(
      `  ${verdict}  ${what.padEnd(58)} ${fixed(value, 2).padStart(8)} ${unit} (at most ${Number(fixed(atMost, 2))})`,
    );
  }
}
