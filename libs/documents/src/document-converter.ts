import { join } from 'node:path';
import { RateLimitedError } from '@caribou/contracts';
import { type ConversionJob } from './conversion-job.js';
import { type DocumentSource, runConversion } from './run-conversion.js';
import type { ConversionKind } from './kinds.js';
import { DEFAULT_DOCUMENT_LIMITS, type DocumentLimits } from './limits.js';

export interface ConverterSettings {
  /** The compiled conversion-process; by default the one beside this file. Code that runs from source names dist's. */
  readonly program?: string;
  /** Processes at once. Default 2. */
  readonly maxAtOnce?: number;
  /** Conversions that wait for a process. Default 32. */
  readonly maxWaiting?: number;
}

export interface ConversionOptions {
  readonly kind: ConversionKind;
  /** Of a page: what its links are relative to. */
  readonly url?: string;
  /** What differs from `DEFAULT_DOCUMENT_LIMITS`. */
  readonly limits?: Partial<DocumentLimits>;
  /** Ends the conversion; the promise then rejects with its reason. */
  readonly signal?: AbortSignal;
}

export interface DocumentConverter {
  /**
   * The document as Markdown, made in a process of its own that is killed at the deadline.
   *
   * @throws InvalidRequestError when the file is not what `kind` says, or is encrypted
   * @throws TooLargeError when a limit of bytes, entries, depth or memory is passed
   * @throws DeadlineError when it takes longer than `limits.deadlineMs`
   * @throws RateLimitedError when too many conversions wait already
   * @throws UnavailableError when the process cannot be started or dies
   */
  toMarkdown(file: DocumentSource, options: ConversionOptions): Promise<string>;
}

/** A fair gate: `maxAtOnce` inside, `maxWaiting` before it. The callback leaves. */
function gate(maxAtOnce: number, maxWaiting: number) {
  const waiting: (() => void)[] = [];
  let inside = 0;
  return {
    enter: async (signal: AbortSignal | undefined) => {
      if (inside < maxAtOnce) {
        inside++;
        return;
      }
      if (waiting.length >= maxWaiting) throw new RateLimitedError('too many documents wait for conversion');
      await new Promise<void>((enter, reject) => {
        const admitted = () => {
          signal?.removeEventListener('abort', abandoned);
          enter();
        };
        const abandoned = () => {
          waiting.splice(waiting.indexOf(admitted), 1);
          reject(signal?.reason);
        };
        waiting.push(admitted);
        signal?.addEventListener('abort', abandoned, { once: true });
      });
    },
    leave: () => {
      const next = waiting.shift();
      if (next === undefined) inside--;
      else next();
    },
  };
}

/** The door to conversion; one per service process, as it bounds how many run at once. */
export function documentConverter(settings: ConverterSettings = {}): DocumentConverter {
  const program = settings.program ?? join(__dirname, 'conversion-process.js');
  const { enter, leave } = gate(settings.maxAtOnce ?? 2, settings.maxWaiting ?? 32);
  return {
    toMarkdown: async (file, { kind, url, limits, signal }) => {
      signal?.throwIfAborted();
      const all = { ...DEFAULT_DOCUMENT_LIMITS, ...limits };
      const job: ConversionJob = { kind, limits: all, ...(url === undefined ? {} : { url }) };
      await enter(signal);
      try {
        return await runConversion(file, { job, program, signal });
      } finally {
        leave();
      }
    },
  };
}
