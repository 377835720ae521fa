import { frequentCalls, innerCalls, type RedisUse, scriptCalls } from './redis-use.js';
import { say } from '../report.js';
import { sum } from '../sample.js';
import type { KindOfKeys } from './stored-keys.js';

const SHOWN_COMMANDS = 8;
/** Commands that are called less often than this are not shown. */
const SHOWN_FROM = 0.05;
const SHOWN_KINDS = 6;

/** Prints what Redis did for one turn or one token. */
export function sayRedisUse(what: string, use: RedisUse): void {
  const { cpuMs, scriptMs, wireBytes } = use;
  const frequent = frequentCalls(use, SHOWN_COMMANDS).filter(([, calls]) => calls >= SHOWN_FROM);
  const commands = frequent.map(([command, calls]) => `${command} ${calls.toFixed(1)}`);
  const cpu = `CPU of its main thread ${cpuMs.toFixed(3)} ms, time in scripts ${scriptMs.toFixed(3)} ms`;
  say(`${what}: ${cpu}, ${wireBytes.toFixed(0)} bytes on the wire`);
  say(`  ${scriptCalls(use).toFixed(2)} scripts, ${innerCalls(use).toFixed(1)} commands: ${commands.join(', ')}`);
}

/** Prints what a turn leaves in Redis after its event log is gone. */
export function sayStoredBytes(what: string, kinds: readonly KindOfKeys[]): void {
  const bytesOf = (expires: boolean): string =>
    sum(kinds.flatMap((kind) => (kind.expires === expires ? [kind.bytes] : []))).toFixed(0);
  say(`Bytes that ${what} leaves in Redis: ${bytesOf(false)}, and ${bytesOf(true)} with a deadline (no event logs)`);
  for (const { kind, bytes, expires } of kinds.slice(0, SHOWN_KINDS))
    say(`  ${kind}: ${bytes.toFixed(0)}${expires ? ', with a deadline' : ''}`);
}
