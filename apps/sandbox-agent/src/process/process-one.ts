import { join } from 'node:path';
import { z } from 'zod';

/** What process 1 of a sandbox needs of the kernel besides Node; see native/process-one.c. */
interface Addon {
  readonly reapOrphans: (own: number) => number;
  readonly closeToOthers: () => number;
}

const isFunction = z.custom<(...args: readonly number[]) => unknown>((value) => typeof value === 'function');
const Exports = z.object({ reapOrphans: isFunction, closeToOthers: isFunction });

const ADDON = 'process-one.node';
/** Signals that a command could send to process 1; Node acts on some of them unless there is a listener (SIGUSR1: it starts a debugger). */
const IGNORED: readonly NodeJS.Signals[] = ['SIGUSR1', 'SIGUSR2', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGPIPE', 'SIGALRM'];
/** Attempts to get past a child that Node is about to notice. */
const MAX_ATTEMPTS = 50;

/** The duties of process 1: orphans are reaped, signals of commands do nothing, and no command can read or trace it. */
export class ProcessOne {
  private own = 0;
  private isPaused = false;

  private constructor(private readonly addon: Addon) {}

  /**
   * Takes the duties over.
   *
   * @param folder has the addon
   * @throws {Error} when this is not process 1, or the addon cannot be loaded, or the kernel does not close this process to others
   */
  static begin(folder: string): ProcessOne {
    if (process.pid !== 1) throw new Error('the sandbox agent has to be process 1 of a container: it ends all others');
    for (const signal of IGNORED) process.on(signal, () => undefined);
    const one = new ProcessOne(loadAddon(join(folder, ADDON)));
    const dumpable = one.addon.closeToOthers();
    if (dumpable !== 0 && dumpable !== 2)
      throw new Error(`the kernel leaves the memory of the sandbox agent open to commands (dumpable: ${dumpable})`);
    process.on('SIGCHLD', () => one.reap());
    one.reap();
    return one;
  }

  /** The child whose end Node is to see; undefined while no command runs. */
  set child(pid: number | undefined) {
    this.own = pid ?? 0;
  }

  /** Does work that starts programs of its own, whose end Node is to see, while no command runs. */
  async withPrograms<T>(work: () => Promise<T>): Promise<T> {
    this.isPaused = true;
    try {
      return await work();
    } finally {
      this.isPaused = false;
      this.reap();
    }
  }

  /** Takes leave of orphans that have ended. */
  reap(attempt = 0): void {
    if (this.isPaused) return;
    if (this.addon.reapOrphans(this.own) < 0 && attempt < MAX_ATTEMPTS) setImmediate(() => this.reap(attempt + 1));
  }
}

function loadAddon(path: string): Addon {
  const loaded: { exports: unknown } = { exports: {} };
  try {
    process.dlopen(loaded, path);
  } catch (error) {
    throw new Error(`the addon of the sandbox agent, ${path}, cannot be loaded`, { cause: error });
  }
  const { reapOrphans, closeToOthers } = Exports.parse(loaded.exports);
  return { reapOrphans: (own) => Number(reapOrphans(own)), closeToOthers: () => Number(closeToOthers()) };
}
