import type { SandboxCommand, SandboxInfo, CommandResult, SandboxSpec, Probe, SandboxDriver } from '@caribou/sandbox';
import type { Scheduler, SimProcess } from './scheduler.js';

interface RunningCommand {
  readonly token: string;
  readonly sandboxId: string;
  end(result: CommandResult): void;
}

/** Effects by the token that their one tool call carries. */
export class Ledger {
  private readonly counts = new Map<string, number>();
  private readonly executors = new Map<string, Set<string>>();
  readonly violations: string[] = [];
  /** A failover may lose the record of a call, or of a sandbox that another manager then gets. */
  readonly repeatedElsewhere: string[] = [];

  constructor(private readonly scheduler: Scheduler) {}

  /** The effect happened: of a command in a sandbox, or of a call to something that knows no sandbox. */
  add(token: string, of: 'command' | 'call', by: SimProcess): void {
    const executors = this.executors.get(token) ?? new Set();
    const isKnownHere = of === 'command' && executors.has(by.name);
    this.executors.set(token, executors.add(by.name));
    const count = this.countOf(token) + 1;
    this.counts.set(token, count);
    this.scheduler.note(`EFFECT ${token} (${count})`);
    if (count === 1) return;
    const violation = `the effect ${token} of a ${of} happened ${count} times`;
    if (isKnownHere) this.violations.push(violation);
    else this.repeatedElsewhere.push(violation);
  }

  countOf(token: string): number {
    return this.counts.get(token) ?? 0;
  }
}

/** The machine below all managers: its sandboxes and commands outlive them. */
export class Machine {
  private readonly running = new Set<RunningCommand>();

  constructor(
    private readonly scheduler: Scheduler,
    private readonly ledger: Ledger,
  ) {}

  /** The driver of one manager. */
  driverOf(process: SimProcess): SandboxDriver {
    const { scheduler } = this;
    return {
      kind: 'docker',
      probe: (): Promise<Probe> => Promise.resolve({ ok: true, detail: 'simulated' }),
      create: async ({ sandboxId }, { fresh }) => {
        await scheduler.sleep(scheduler.random.between(5, 400), process, 'sandbox made');
        if (fresh) this.endAll(sandboxId);
      },
      exec: (sandbox, command, signal) => this.exec(process, { sandbox, command, signal }),
      remove: ({ sandboxId }) => Promise.resolve(this.endAll(sandboxId)),
      isAlive: () => Promise.resolve(true),
      domain: () => Promise.resolve('simulated'),
      list: (): Promise<readonly SandboxInfo[]> => Promise.resolve([]),
      removeInstance: () => Promise.resolve(),
    };
  }

  private async exec(
    process: SimProcess,
    {
      sandbox,
      command,
      signal,
    }: { readonly sandbox: SandboxSpec; readonly command: SandboxCommand; readonly signal: AbortSignal },
  ): Promise<CommandResult> {
    const { scheduler, ledger, running } = this;
    const [, token = '', ms = '0'] = command.command.split(' ');
    await scheduler.sleep(scheduler.random.between(0.5, 20), process, 'command starts');
    if (signal.aborted) return resultOf('cancel', '');
    if ([...running].some((other) => other.sandboxId === sandbox.sandboxId)) {
      ledger.violations.push(`two commands at once in ${sandbox.sandboxId}`);
    }
    ledger.add(token, 'command', process);
    return new Promise((resolve) => {
      const entry: RunningCommand = {
        token,
        sandboxId: sandbox.sandboxId,
        end: (result) => {
          // A command ends by itself whether or not its manager lives; only a living one is notified.
          if (running.delete(entry)) scheduler.after(0.5, process, 'command ended', () => resolve(result));
        },
      };
      running.add(entry);
      scheduler.after(Number(ms), undefined, `command ${token} ends`, () => entry.end(resultOf('exit', token)));
      signal.addEventListener('abort', () => entry.end(resultOf('cancel', '')), { once: true });
    });
  }

  private endAll(sandboxId: string): void {
    for (const entry of this.running) if (entry.sandboxId === sandboxId) entry.end(resultOf('cancel', ''));
  }
}

const resultOf = (endedBy: CommandResult['endedBy'], stdout: string): CommandResult => ({
  exitCode: endedBy === 'exit' ? 0 : 137,
  stdout,
  stderr: '',
  truncatedBytes: 0,
  endedBy,
  durationMs: 1,
});
