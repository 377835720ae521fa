import { omitUndefined, type QueueState } from '@caribou/contracts';
import { join } from 'node:path';
import { type ConversionJob } from './conversion-job.js';
import { FairGate } from './fair-gate.js';
import { type DocumentSource, runConversion } from './run-conversion.js';
import type { ConversionKind } from '../kinds.js';
import { DEFAULT_DOCUMENT_LIMITS, type DocumentLimits } from '../limits.js';

export interface ConverterSettings {
  /**
   * The compiled conversion-process; by default the one next to this file. Code that runs from source uses the one in
   * dist.
   */
  readonly program?: string;
  /** Concurrent processes. Default 2. */
  readonly maxAtOnce?: number;
  /** Maximum waiting conversions of each owner, and eight times that in total. Default 32. */
  readonly maxWaiting?: number;
}

export interface ConversionOptions {
  readonly kind: ConversionKind;
  /** Owner of the document: owners take turns, and none may use all processes. Absent: no particular owner. */
  readonly owner?: string;
  /** Base URL of a page's links. */
  readonly url?: string;
  /** Overrides of `DEFAULT_DOCUMENT_LIMITS`. */
  readonly limits?: Partial<DocumentLimits>;
  /** Ends the conversion; the promise then rejects with its reason. */
  readonly signal?: AbortSignal;
}

export interface DocumentConverter {
  /**
   * Converts the document to Markdown in a separate process that is killed at the deadline.
   *
   * @throws InvalidRequestError when the file is not what `kind` says, or is encrypted
   * @throws TooLargeError when a limit of bytes, entries, depth or memory is exceeded
   * @throws DeadlineError when it takes longer than `limits.deadlineMs`
   * @throws RateLimitedError when too many conversions are waiting
   * @throws UnavailableError when the process cannot be started or dies
   */
  toMarkdown(file: DocumentSource, options: ConversionOptions): Promise<string>;
}

/** A converter that says how much work it has. */
export interface MeasuredConverter extends DocumentConverter {
  /** The conversions that wait for a process. */
  queueState(): QueueState;
  /** How many processes convert documents now, and how many may do so at once. */
  readonly slots: { readonly used: () => number; readonly limit: number };
}

/** Creates the converter; one per service process, as it limits concurrent conversions. */
export function documentConverter(settings: ConverterSettings = {}): MeasuredConverter {
  const program = settings.program ?? join(__dirname, 'conversion-process.js');
  const maxAtOnce = settings.maxAtOnce ?? 2;
  const gate = new FairGate({ maxAtOnce, maxWaiting: settings.maxWaiting ?? 32 });
  return {
    queueState: () => gate.queueState(),
    slots: { used: () => gate.insideNow(), limit: maxAtOnce },
    toMarkdown: async (file, { kind, owner, url, limits, signal }) => {
      const all = { ...DEFAULT_DOCUMENT_LIMITS, ...limits };
      const job: ConversionJob = { kind, limits: all, ...omitUndefined({ url }) };
      const release = await gate.acquire({ owner, signal });
      try {
        return await runConversion(file, { job, program, signal });
      } finally {
        release();
      }
    },
  };
}
