import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Logger } from '@caribou/core';
import { findProgram } from '../bwrap/bwrap-host.js';

export interface LeaseGuardOptions {
  /** The installation's run directory, which has the records of bubblewrap's processes. */
  readonly runDir: string;
  readonly managerId: string;
  readonly logger: Logger;
}

/** A guard that has ended is started again after this time, in milliseconds. */
const RESTART_MS = 1_000;

/**
 * Bash: $1 is the folder of records, $2 the manager. Each line of its input is the time, in hundredths of a second since
 * the machine's start, at which the lease is over; then, and at the end of the input, it kills the recorded process
 * groups of the manager's commands. A process counts only with the start time that was recorded. It waits for a second
 * at most, as its clock, unlike that of waits, continues while the machine is suspended. A wait may end within a line.
 */
const SCRIPT = `shopt -s nullglob
trap '' TERM INT HUP
end_all() {
  local file record stat ended=0
  for file in "$1"/*.json; do
    read -r record <"$file" 2>/dev/null
    [[ $record == *'"managerId":"'"$2"'"'* && $record =~ \\"pid\\":([0-9]+),\\"startTicks\\":\\"([0-9]+)\\" ]] || continue
    local pid=\${BASH_REMATCH[1]} ticks=\${BASH_REMATCH[2]}
    read -r stat 2>/dev/null <"/proc/$pid/stat" || continue
    local fields=(\${stat##*) })
    [[ \${fields[19]} == "$ticks" ]] && kill -9 -- "-$pid" 2>/dev/null && ended=$((ended+1))
  done
  [[ $ended == 0 ]] || echo "$ended"
}
until=0 text=
while :; do
  bound=()
  if [[ $until != 0 ]]; then
    read -r now _ </proc/uptime
    left=$((until - 10#\${now/./}))
    if ((left <= 0)); then end_all "$1" "$2"; until=0; continue; fi
    ((left > 100)) && left=100
    printf -v seconds '%d.%02d' $((left / 100)) $((left % 100))
    bound=(-t "$seconds")
  fi
  if read -r "\${bound[@]}" line; then until=$text$line text=; elif (($? > 128)); then text+=$line; else break; fi
done
end_all "$1" "$2"`;

/**
 * A process that ends the manager's bubblewrap commands when its lease is over, also while the manager itself does
 * nothing, because it is stopped or busy: other machines may run the threads' next commands from then on, and could not
 * end these.
 */
export class LeaseGuard {
  private process: ChildProcess | undefined;
  private restart: NodeJS.Timeout | undefined;
  private until: string | undefined;
  private isClosed = false;

  constructor(private readonly options: LeaseGuardOptions) {}

  /** Starts the process. Without bash on the machine there is none, which is logged. */
  start(): void {
    const { runDir, managerId, logger } = this.options;
    const bash = findProgram('bash');
    if (bash === undefined) {
      logger.warn({ event: 'lease_guard.start', outcome: 'error' }, 'bash is not installed: no guard of the lease');
      return;
    }
    // Bash reads a start file when its input is a socket, as it is here.
    const argv = ['--norc', '-c', SCRIPT, 'caribou-lease-guard', join(runDir, 'sandboxes'), managerId];
    const child = spawn(bash, argv, { env: {}, cwd: '/', stdio: ['pipe', 'pipe', 'ignore'], detached: true });
    child.unref();
    child.on('error', (error) =>
      logger.warn({ event: 'lease_guard.start', outcome: 'error', error }, 'no lease guard'),
    );
    // A guard that has ended is noticed by `close`.
    child.stdin.on('error', () => undefined);
    child.on('exit', () => this.onEnd());
    createInterface({ input: child.stdout }).on('line', () =>
      logger.error({ event: 'lease_guard.end', managerId }, 'the lease had run out: its guard has ended commands'),
    );
    this.process = child;
    if (this.until !== undefined) child.stdin.write(this.until);
  }

  /** @param untilMs when the commands are to be ended, in milliseconds since the machine's start */
  extend(untilMs: number): void {
    this.until = `${Math.ceil(untilMs / 10)}\n`;
    this.process?.stdin?.write(this.until);
  }

  /** Ends the process, and with it what the manager still runs. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.restart);
    this.process?.stdin?.end();
  }

  private onEnd(): void {
    this.process = undefined;
    if (this.isClosed) return;
    this.options.logger.warn({ event: 'lease_guard.end', outcome: 'error' }, 'the guard of the lease has ended');
    this.restart = setTimeout(() => this.start(), RESTART_MS).unref();
  }
}
