import { type MessagePort, Worker } from 'node:worker_threads';

/** One matching line. */
export interface LineMatch {
  /** 1-based. */
  readonly line: number;
  /** The line, shortened to 200 characters. */
  readonly text: string;
}

export class SearchTimeout extends Error {
  constructor() {
    super('a search took too long');
    this.name = 'SearchTimeout';
  }
}

interface Question {
  readonly content: Uint8Array;
  readonly maxMatches: number;
}

/** Memory of the searching thread, in MiB: a file of 1 MB in pieces, and room for the engine. */
const MAX_HEAP_MB = 64;

/**
 * A regular expression in a thread of its own, because no expression can be trusted to come to an end: at the deadline
 * the thread is ended, whatever it does. One question at a time.
 */
export class LineSearch {
  private readonly worker: Worker;
  private readonly timer: NodeJS.Timeout;
  private readonly failed: Promise<never>;

  constructor(pattern: RegExp, timeoutMs: number) {
    this.worker = new Worker(`(${answerSearches.toString()})(require('node:worker_threads'))`, {
      eval: true,
      env: {},
      execArgv: [],
      workerData: { source: pattern.source, flags: pattern.flags },
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    const { promise, reject } = rejection();
    this.failed = promise;
    // It is raced by each question, and may fail between two of them.
    this.failed.catch(() => undefined);
    this.worker.on('error', reject);
    this.timer = setTimeout(() => {
      reject(new SearchTimeout());
      void this.worker.terminate();
    }, timeoutMs);
  }

  /** The first matches in a text. @throws {SearchTimeout} when the time given to all questions is over */
  async search(question: Question): Promise<readonly LineMatch[]> {
    const answered = new Promise<readonly LineMatch[]>((resolve) => this.worker.once('message', resolve));
    this.worker.postMessage(question);
    return Promise.race([answered, this.failed]);
  }

  async close(): Promise<void> {
    clearTimeout(this.timer);
    await this.worker.terminate();
  }
}

function rejection(): { readonly promise: Promise<never>; readonly reject: (reason: Error) => void } {
  let reject: (reason: Error) => void = () => undefined;
  const promise = new Promise<never>((_, fail) => {
    reject = fail;
  });
  return { promise, reject };
}

/** The part of node:worker_threads that the other thread uses. */
interface OtherThread {
  readonly parentPort: MessagePort | null;
  readonly workerData: unknown;
}

/** Runs in the other thread from its source text, so it uses nothing of this module. */
function answerSearches({ parentPort, workerData }: OtherThread): void {
  const maxLineChars = 10_000;
  const maxShownChars = 200;
  const { source, flags } = workerData as { readonly source: string; readonly flags: string };
  const pattern = new RegExp(source, flags);
  const shorten = (line: string): string => {
    const chars = Array.from(line);
    return chars.length <= maxShownChars ? line : `${chars.slice(0, maxShownChars - 3).join('')}...`;
  };
  parentPort?.on('message', ({ content, maxMatches }: Question) => {
    const matches: LineMatch[] = [];
    const lines = new TextDecoder().decode(content).split('\n');
    for (let index = 0; index < lines.length && matches.length < maxMatches; index += 1) {
      const line = (lines[index] ?? '').replace(/\r$/, '');
      const isEndOfFile = line === '' && index === lines.length - 1;
      if (isEndOfFile || line.length > maxLineChars || !pattern.test(line)) continue;
      matches.push({ line: index + 1, text: shorten(line) });
    }
    parentPort.postMessage(matches);
  });
}
