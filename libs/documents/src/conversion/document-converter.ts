import { join } from 'node:path';
import { type ConversionJob } from './conversion-job.js';
import { FairGate } from './fair-gate.js';
import { type DocumentSource, runConversion } from './run-conversion.js';
import type { ConversionKind } from '../kinds.js';
import { DEFAULT_DOCUMENT_LIMITS, type DocumentLimits } from '../limits.js';

export interface ConverterSettings {
  /** The compiled conversion-process; by default the one beside this file. Code that runs from source names dist's. */
  readonly program?: string;
  /** Processes at once. Default 2. */
  readonly maxAtOnce?: number;
  /** Conversions that wait for a process, of each owner; of all eight times that. Default 32. */
  readonly maxWaiting?: number;
}

export interface ConversionOptions {
  readonly kind: ConversionKind;
  /** Whose: owners take turns, and one never has all processes. Absent: nobody in particular. */
  readonly owner?: string;
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

/** The door to conversion; one per service process, as it bounds how many run at once. */
export function documentConverter(settings: ConverterSettings = {}): DocumentConverter {
  const program = settings.program ?? join(__dirname, 'conversion-process.js');
  const gate = new FairGate({ maxAtOnce: settings.maxAtOnce ?? 2, maxWaiting: settings.maxWaiting ?? 32 });
  return {
    toMarkdown: async (file, { kind, owner, url, limits, signal }) => {
      const all = { ...DEFAULT_DOCUMENT_LIMITS, ...limits };
      const job: ConversionJob = { kind, limits: all, ...(url === undefined ? {} : { url }) };
      const leave = await gate.enter({ owner, signal });
      try {
        return await runConversion(file, { job, program, signal });
      } finally {
        leave();
      }
    },
  };
}
