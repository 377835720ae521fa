/** What a Redis server has done since its start, or between two readings. */
export interface RedisUse {
  /** CPU time of the main thread in milliseconds, user and system: network, commands and scripts. */
  readonly cpuMs: number;
  /** Time inside EVALSHA and EVAL in milliseconds, by the server's wall clock. */
  readonly scriptMs: number;
  /** Bytes received from clients and sent to them. */
  readonly wireBytes: number;
  /** Calls by command, from clients and from scripts. */
  readonly calls: Readonly<Record<string, number>>;
}

const SCRIPT_COMMANDS = ['eval', 'evalsha', 'eval_ro', 'evalsha_ro'];
/** Commands of the measurement itself and of health checks. */
const LEFT_OUT = [...SCRIPT_COMMANDS, 'ping', 'info'];

/** Parses a reply of `INFO all`. A field that the server does not report counts as 0. */
export function parseRedisUse(info: string): RedisUse {
  const fields = new Map<string, string>();
  for (const line of info.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0 && !line.startsWith('#')) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const calls: Record<string, number> = {};
  let scriptMicros = 0;
  for (const [name, value] of fields) {
    const command = /^cmdstat_(.+)$/.exec(name)?.[1];
    if (command === undefined) continue;
    const stats = /^calls=(\d+),usec=(\d+)/.exec(value);
    calls[command] = Number(stats?.[1] ?? 0);
    if (SCRIPT_COMMANDS.includes(command)) scriptMicros += Number(stats?.[2] ?? 0);
  }
  return {
    cpuMs: 1000 * (number('used_cpu_user_main_thread') + number('used_cpu_sys_main_thread')),
    scriptMs: scriptMicros / 1000,
    wireBytes: number('total_net_input_bytes') + number('total_net_output_bytes'),
    calls,
  };
}

/** `use` + `factor` × `other`. Commands whose sum is 0 are left out. */
function plus(use: RedisUse, other: RedisUse, factor: number): RedisUse {
  const names = [...new Set([...Object.keys(use.calls), ...Object.keys(other.calls)])];
  const calls = names.map((name) => [name, (use.calls[name] ?? 0) + factor * (other.calls[name] ?? 0)] as const);
  return {
    cpuMs: use.cpuMs + factor * other.cpuMs,
    scriptMs: use.scriptMs + factor * other.scriptMs,
    wireBytes: use.wireBytes + factor * other.wireBytes,
    calls: Object.fromEntries(calls.filter(([, count]) => count !== 0)),
  };
}

export const NO_USE: RedisUse = { cpuMs: 0, scriptMs: 0, wireBytes: 0, calls: {} };

export const addUse = (use: RedisUse, other: RedisUse): RedisUse => plus(use, other, 1);

export const subtractUse = (use: RedisUse, other: RedisUse): RedisUse => plus(use, other, -1);

/** Multiplies every figure, `1 / turns` to get the use of one turn. */
export const scaleUse = (use: RedisUse, factor: number): RedisUse => plus(NO_USE, use, factor);

const total = (use: RedisUse, counts: (command: string) => boolean): number =>
  Object.entries(use.calls).reduce((sum, [command, count]) => sum + (counts(command) ? count : 0), 0);

/** Scripts that clients called. */
export const scriptCalls = (use: RedisUse): number => total(use, (command) => SCRIPT_COMMANDS.includes(command));

/** All commands but the scripts themselves, PING and INFO: nearly all of them are called by scripts. */
export const innerCalls = (use: RedisUse): number => total(use, (command) => !LEFT_OUT.includes(command));

/** The most frequent commands of `innerCalls`, most frequent first. */
export function frequentCalls(use: RedisUse, limit: number): readonly (readonly [command: string, calls: number])[] {
  const counted = Object.entries(use.calls).filter(([command]) => !LEFT_OUT.includes(command));
  return counted.sort((a, b) => b[1] - a[1]).slice(0, limit);
}
