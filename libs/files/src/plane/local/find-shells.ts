import { FindShell, type ShellRequest } from './find-shell.js';

/** Shells that wait for the next request at most; more end after theirs. */
const MAX_IDLE = 2;
/** How long a shell waits for it, in milliseconds. */
const IDLE_MS = 60_000;

interface Idle {
  readonly shell: FindShell;
  readonly timer: NodeJS.Timeout;
}

/** Shells of this process, as many as there are requests at the same time. */
export class FindShells {
  private readonly idle: Idle[] = [];

  /** @param program the program that they start */
  constructor(private readonly program: string) {}

  /** See FindShell. */
  async run(request: Omit<ShellRequest, 'program'>): ReturnType<FindShell['run']> {
    const shell = this.take();
    const answer = await shell.run({ ...request, program: this.program });
    if (answer === null) shell.end();
    else this.giveBack(shell);
    return answer;
  }

  private take(): FindShell {
    for (let last = this.idle.pop(); last !== undefined; last = this.idle.pop()) {
      clearTimeout(last.timer);
      if (last.shell.isUsable) return last.shell;
    }
    return new FindShell();
  }

  private giveBack(shell: FindShell): void {
    if (this.idle.length >= MAX_IDLE) {
      shell.end();
      return;
    }
    const timer = setTimeout(() => {
      this.idle.splice(
        this.idle.findIndex((each) => each.shell === shell),
        1,
      );
      shell.end();
    }, IDLE_MS);
    timer.unref();
    this.idle.push({ shell, timer });
  }
}
