import type { Message } from '@caribou/contracts';
import type { TurnKind } from './plan.js';

/** A frame as far as frames are compared. */
export interface FrameMark {
  readonly id: string | undefined;
  readonly event: string;
  /** Digest of the data. */
  readonly digest: string;
}

/** What one connection to a stream delivered. */
export interface Segment {
  /** The `Last-Event-ID` it was opened with. */
  readonly after: string;
  readonly frames: readonly FrameMark[];
}

/** A side effect that a script asked for, counted where it took place. */
export interface Effect {
  readonly where: 'ledger' | 'notes' | 'mcp';
  readonly word: string;
  readonly count: number;
  /** Whether a result of a tool said that it happened. */
  readonly reported: boolean;
}

export interface RunHistory {
  readonly threadId: string;
  readonly runId: string;
  readonly kind: TurnKind | 'after';
  /** What the person said. */
  readonly script: string;
  /** Statuses that it may end with; `gone` when no record of it may remain. */
  readonly may: readonly string[];
  readonly acceptedAtMs: number;
  readonly segments: readonly Segment[];
  /** The end that its stream should have had was not seen in time. */
  readonly stuck: boolean;
  readonly attempts: number;
  /** Data of the `error` frames that its streams delivered. */
  readonly errors: readonly string[];
  /** Status at the end of everything, or `gone`. */
  readonly status: string;
  /** Its stream from the beginning, read at the end; undefined when the run is gone. */
  readonly replay: readonly FrameMark[] | undefined;
}

export interface ThreadHistory {
  readonly threadId: string;
  /** In the order in which they were accepted. */
  readonly runs: readonly RunHistory[];
  /** State at the end; undefined for a thread that is gone. */
  readonly messages: readonly Message[] | undefined;
  readonly effects: readonly Effect[];
}

/** One fact that a person asked to be remembered. */
export interface Remembered {
  readonly threadId: string;
  readonly word: string;
  readonly count: number;
}

/** All that a run of chaos has seen; the checker looks at nothing else. */
export interface History {
  readonly threads: readonly ThreadHistory[];
  readonly remembered: readonly Remembered[];
  /** What was left when everything was at rest, a line each: keys, wakes, processes. */
  readonly remains: readonly string[];
  /** What went wrong beside the product's answers: requests nobody took, services that ended by themselves. */
  readonly incidents: readonly { readonly what: string; readonly threadId?: string; readonly runId?: string }[];
}

export interface Violation {
  readonly rule: string;
  readonly threadId?: string;
  readonly runId?: string;
  readonly what: string;
  readonly excerpt: string;
}

/** The text of a message, whether it is one or in blocks. */
export function textOf({ content }: Pick<Message, 'content'>): string {
  if (typeof content === 'string') return content;
  const texts = content.map((block): unknown => (typeof block === 'string' ? block : block['text']));
  return texts.filter((text) => typeof text === 'string').join('\n');
}
