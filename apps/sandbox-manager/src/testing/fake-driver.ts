import type { SandboxDriverKind } from '@caribou/contracts';
import {
  type SandboxCommand,
  SandboxGoneError,
  type SandboxInfo,
  type CommandResult,
  type SandboxSpec,
  type Probe,
  type SandboxDriver,
} from '@caribou/sandbox';

interface RunningCommand {
  readonly command: string;
  readonly spec: SandboxSpec;
  finish(): void;
  fail(error: Error): void;
}

const result = (endedBy: CommandResult['endedBy'], stdout: string): CommandResult => ({
  exitCode: endedBy === 'exit' ? 0 : 137,
  stdout,
  stderr: '',
  truncatedBytes: 0,
  endedBy,
  durationMs: 1,
});

/** A driver whose commands run until the test ends them; `echo …` ends by itself. */
export class FakeDriver implements SandboxDriver {
  readonly created: { readonly sandboxId: string; readonly fresh: boolean; readonly running: number }[] = [];
  readonly removed: string[] = [];
  readonly ran: string[] = [];
  readonly running = new Set<RunningCommand>();
  readonly removedInstances: string[] = [];
  /** What `list` answers. */
  readonly listed = new Set<SandboxInfo>();
  gone = false;
  /** What `domain` answers. */
  inDomain: string | undefined = 'one machine';
  mostAtOnce = 0;

  constructor(
    readonly kind: SandboxDriverKind = 'docker',
    /** What runs in the machine, shared by the drivers of several managers. */
    private readonly machine = new Set<RunningCommand>(),
  ) {}

  /** The driver of another manager on the same machine. */
  ofAnotherManager(): FakeDriver {
    return new FakeDriver(this.kind, this.machine);
  }

  probe(): Promise<Probe> {
    return Promise.resolve({ ok: true, detail: 'fake' });
  }

  async create({ sandboxId }: SandboxSpec, { fresh }: { fresh: boolean }): Promise<void> {
    await Promise.resolve();
    this.gone = false;
    if (fresh)
      for (const command of this.machine) if (command.spec.sandboxId === sandboxId) this.machine.delete(command);
    this.created.push({ sandboxId, fresh, running: this.machine.size });
  }

  async exec(spec: SandboxSpec, { command }: SandboxCommand, signal: AbortSignal): Promise<CommandResult> {
    await Promise.resolve();
    if (this.gone) throw new SandboxGoneError('gone');
    this.ran.push(command);
    if (command.startsWith('echo ')) return result('exit', command.slice(5));
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        this.running.delete(entry);
        this.machine.delete(entry);
        act();
      };
      const entry: RunningCommand = {
        command,
        spec,
        finish: () => settle(() => resolve(result('exit', `done ${command}`))),
        fail: (error) => settle(() => reject(error)),
      };
      this.running.add(entry);
      this.machine.add(entry);
      this.mostAtOnce = Math.max(this.mostAtOnce, this.running.size);
      signal.addEventListener('abort', () => settle(() => resolve(result('cancel', ''))), { once: true });
    });
  }

  remove({ sandboxId }: SandboxSpec): Promise<void> {
    this.removed.push(sandboxId);
    return Promise.resolve();
  }

  isAlive(): Promise<boolean> {
    return Promise.resolve(!this.gone);
  }

  domain(): Promise<string | undefined> {
    return Promise.resolve(this.inDomain);
  }

  list(): Promise<readonly SandboxInfo[]> {
    return Promise.resolve([...this.listed]);
  }

  removeInstance(listed: SandboxInfo): Promise<void> {
    this.listed.delete(listed);
    this.removedInstances.push(listed.instance);
    return Promise.resolve();
  }
}
