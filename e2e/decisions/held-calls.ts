import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A middleware of the operator that holds each tool call between what people decided about it and the tool, while the file `held`
 * exists, and notes the process in which the call has arrived. Rejected and answered calls do not come that far.
 */
const SOURCE = `import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
const home = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
export const hold = ({ defineMiddleware }) => defineMiddleware({
  name: 'hold',
  timeoutMs: 600000,
  wrapToolCall: async ({ call }, next, { signal }) => {
    if (call.name === 'task' || !existsSync(join(home, 'held'))) return next();
    mkdirSync(join(home, 'arrived'), { recursive: true });
    writeFileSync(join(home, 'arrived', call.id), String(process.pid));
    while (existsSync(join(home, 'held'))) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return next();
  },
});
`;

export const HOLD_CONFIG = `extensions:
  middlewares: [./hold.mjs#hold]
`;

/** Calls that wait between decision and effect, in whatever process. */
export class HeldCalls {
  constructor(private readonly homeDir: string) {}

  /** Writes the module beside the configuration; services must be started afterwards. */
  install(): Promise<void> {
    return writeFile(join(this.homeDir, 'hold.mjs'), SOURCE);
  }

  /** From now on every call is held before its tool. */
  hold(): void {
    rmSync(this.path('arrived'), { recursive: true, force: true });
    mkdirSync(this.path('arrived'));
    writeFileSync(this.path('held'), '');
  }

  release(): void {
    rmSync(this.path('held'), { force: true });
  }

  /** Ids of the calls that were held first or last in a process, which need not live any more. */
  arrivedIn(pid: number): ReadonlySet<string> {
    if (!existsSync(this.path('arrived'))) return new Set();
    const ids = readdirSync(this.path('arrived'));
    return new Set(ids.filter((id) => readFileSync(join(this.path('arrived'), id), 'utf8') === String(pid)));
  }

  private path(name: string): string {
    return join(this.homeDir, name);
  }
}
